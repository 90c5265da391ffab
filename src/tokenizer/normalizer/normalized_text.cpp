#include "tokenizer/normalizer/normalized_text.hpp"

#include <algorithm>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

// No normalizer in use makes more than eighteen characters of one.
constexpr std::size_t kMaxGrowth = 256;
constexpr std::size_t kMaxBytes = std::size_t{1} << 31;
constexpr std::size_t kKeptBytes = std::size_t{1} << 22;  // of a buffer that is kept for the next rewrite

std::uint32_t length_of(std::string_view text, std::uint32_t position) {
  const auto lead = static_cast<unsigned char>(text[position]);
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

}  // namespace

void NormalizedText::assign(std::string_view original, std::uint32_t base, std::uint32_t size) {
  original_ = original;
  view_ = original.substr(base, size);
  base_ = base;
  front_ = base;
  limit_ = std::min<std::size_t>(kMaxBytes, kMaxGrowth * (size + std::size_t{4096}));
  one_to_one_ = true;
  runs_.clear();
}

void NormalizedText::refuse_growth() {
  throw_input("tokenizer: normalized text: expected at most " + std::to_string(kMaxGrowth) +
              " times the text's size, got more; the tokenizer's normalizer or pre-tokenizer makes too much of it");
}

const NormalizedText::Run& NormalizedText::search_run(std::uint32_t position) const {
  const auto behind = std::upper_bound(runs_.begin(), runs_.end(), position,
                                       [](std::uint32_t at, const Run& run) { return at < run.at; });
  cursor_ = static_cast<std::size_t>(behind - runs_.begin()) - 1;
  return runs_[cursor_];
}

void NormalizedText::slice(std::uint32_t begin, std::uint32_t end, NormalizedText& out) const {
  out.original_ = original_;
  out.limit_ = limit_;
  out.base_ = base_;
  out.begin_rewrite();
  out.copy_from(*this, begin, end);
  out.end_rewrite();
  out.front_ = begin < end ? span_of(begin).begin : front_;
}

char* NormalizedText::writable() {
  if (view_.data() != text_.data()) {
    text_.assign(view_);
    view_ = text_;
  }
  return text_.data();
}

void NormalizedText::begin_rewrite() {
  next_.clear();
  next_runs_.clear();
  next_.reserve(view_.size());
}

void NormalizedText::copy_from(const NormalizedText& from, std::uint32_t begin, std::uint32_t end) {
  if (begin >= end) return;
  const auto size = static_cast<std::uint32_t>(next_.size());
  next_.append(from.view_, begin, end - begin);
  check_growth();
  if (from.one_to_one_) return push_kept(size, from.base_ + begin);
  const Run* run = &from.run_of(begin);
  const Run* const none = from.runs_.data() + from.runs_.size();
  for (std::uint32_t at = begin; at < end; at = run->at) {
    if (run->is_kept()) {
      push_kept(size + (at - begin), run->begin + (at - run->at));
    } else {
      push_standing(size + (at - begin), {run->begin, run->end});
    }
    if (++run == none) break;
  }
}

void NormalizedText::put(char32_t character, Span origin) {
  push_standing(static_cast<std::uint32_t>(next_.size()), origin);
  utf8::append(next_, character);
  check_growth();
}

void NormalizedText::put(std::string_view bytes, Span origin) {
  if (bytes.empty()) return;
  push_standing(static_cast<std::uint32_t>(next_.size()), origin);
  next_.append(bytes);
  check_growth();
}

void NormalizedText::end_rewrite() {
  text_.swap(next_);
  view_ = text_;
  runs_.swap(next_runs_);
  cursor_ = 0;
  if (next_.capacity() > kKeptBytes) {  // the old text of a long one
    std::string().swap(next_);
    std::vector<Run>().swap(next_runs_);
  }
  one_to_one_ = runs_.size() == 1 && runs_.front().is_kept();
  if (one_to_one_) base_ = runs_.front().begin;
}

void NormalizedText::transform(const std::vector<Change>& changes) {
  begin_rewrite();
  replace(0, static_cast<std::uint32_t>(view_.size()), changes);
  end_rewrite();
}

void NormalizedText::replace(std::uint32_t begin, std::uint32_t end, const std::vector<unicode::Mapped>& changes,
                             std::uint32_t dropped) {
  std::uint32_t old = begin;  // first byte of the next old character
  for (const auto& [character, change] : changes) {
    if (!unicode::is(character, dropped)) put(character, change > 0 ? before(old) : span_of(std::min(old, end - 1)));
    for (std::int32_t i = change; i <= 0 && old < end; ++i) old += length_of(view_, old);
  }
}

}  // namespace mha::tokenizer
