#include "tokenizer/normalizer/normalized_text.hpp"

#include <algorithm>

#include "mha/core/error.hpp"
#include "mha/core/utf8.hpp"

namespace mha::tokenizer {
namespace {

// No normalizer in use makes more than eighteen characters of one.
constexpr std::size_t kMaxGrowth = 256;
constexpr std::size_t kMaxBytes = std::size_t{1} << 31;

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
  alignment_.clear();
}

void NormalizedText::refuse_growth() {
  throw_input("tokenizer: normalized text: expected at most " + std::to_string(kMaxGrowth) +
              " times the text's size, got more; the tokenizer's normalizer or pre-tokenizer makes too much of it");
}

void NormalizedText::slice(std::uint32_t begin, std::uint32_t end, NormalizedText& out) const {
  out.original_ = original_;
  out.limit_ = limit_;
  out.text_.assign(view_, begin, end - begin);
  out.view_ = out.text_;
  out.one_to_one_ = one_to_one_;
  out.alignment_.clear();
  out.base_ = base_ + begin;
  out.front_ = begin < end ? span_of(begin).begin : front_;
  if (!one_to_one_) out.alignment_.assign(alignment_.begin() + begin, alignment_.begin() + end);
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
  next_alignment_.clear();
  next_.reserve(view_.size());
  next_alignment_.reserve(view_.size());
}

void NormalizedText::copy(std::uint32_t begin, std::uint32_t end) {
  next_.append(view_, begin, end - begin);
  check_growth();
  if (!one_to_one_) {
    next_alignment_.insert(next_alignment_.end(), alignment_.begin() + begin, alignment_.begin() + end);
    return;
  }
  for (std::uint32_t at = begin; at < end;) {
    const std::uint32_t next = std::min(at + length_of(view_, at), end);
    for (std::uint32_t i = at; i < next; ++i) next_alignment_.push_back({base_ + at, base_ + next});
    at = next;
  }
}

void NormalizedText::put(char32_t character, Span origin) {
  utf8::append(next_, character);
  check_growth();
  next_alignment_.resize(next_.size(), origin);
}

void NormalizedText::put(std::string_view bytes, Span origin) {
  next_.append(bytes);
  check_growth();
  next_alignment_.resize(next_.size(), origin);
}

void NormalizedText::end_rewrite() {
  text_.swap(next_);
  alignment_.swap(next_alignment_);
  view_ = text_;
  one_to_one_ = false;
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
