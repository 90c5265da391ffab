#include "tokenizer/trim_offsets.hpp"

#include <algorithm>

#include "core/utf8.hpp"
#include "unicode/properties.hpp"

namespace mha::tokenizer {
namespace {

constexpr char32_t kByteLevelSpace = 0x120;  // Ġ

// The greatest margin that the table holds: the exact value must then be counted in the token's text.
constexpr std::uint32_t kManyMargins = 15;

void trim_one(Span& offsets, Margins margins, std::string_view text, bool first, bool add_prefix_space) {
  if (margins.leading > 0) {
    // A single space at the front is the one that the pre-tokenizer added.
    const bool added = margins.leading == 1 && add_prefix_space && (first || offsets.begin == 0);
    std::uint32_t count = added ? 0 : margins.leading;
    for (; count > 0 && offsets.begin < offsets.end; --count) {
      do ++offsets.begin;
      while (offsets.begin < offsets.end && utf8::is_continuation(text[offsets.begin]));
    }
  }
  if (margins.trailing > 0) {
    std::uint32_t end = offsets.end;
    std::uint32_t count = margins.trailing;
    for (; count > 0 && end > 0; --count) {
      do --end;
      while (end > 0 && utf8::is_continuation(text[end]));
    }
    if (count == 0) offsets.end = std::max(end, offsets.begin);
  }
}

}  // namespace

Margins margins_of(std::string_view token) {
  const auto is_space = [](char32_t c) { return c == kByteLevelSpace || unicode::is(c, unicode::kWhiteSpace); };
  Margins margins;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < token.size() && is_space(utf8::next(token, at)); begin = at) ++margins.leading;
  if (begin == token.size()) return {margins.leading, margins.leading};
  for (std::size_t end = token.size(); end > begin; ++margins.trailing) {
    std::size_t at = end - 1;
    while (at > begin && utf8::is_continuation(token[at])) --at;
    end = at;
    if (!is_space(utf8::next(token, at))) break;
  }
  return margins;
}

OffsetTrimmer::OffsetTrimmer(const Vocab& vocab) : margins_(vocab.id_limit()) {
  for (std::size_t id = 0; id < margins_.size(); ++id) {
    const Margins margins = margins_of(vocab.token(static_cast<std::int32_t>(id)));
    margins_[id] = static_cast<std::uint8_t>(std::min(margins.leading, kManyMargins) << 4 |
                                             std::min(margins.trailing, kManyMargins));
  }
}

void OffsetTrimmer::trim(const TokenSequence& sequence, TokenRange range, const Vocab& vocab, bool add_prefix_space,
                         Span* offsets) const {
  auto own = std::lower_bound(sequence.own_margins.begin(), sequence.own_margins.end(), range.begin,
                              [](const auto& entry, std::size_t index) { return entry.first < index; });
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const auto id = static_cast<std::size_t>(sequence.tokens[i].id);
    Margins margins;
    if (own != sequence.own_margins.end() && own->first == i) {
      margins = (own++)->second;
    } else if (id < margins_.size()) {
      if (margins_[id] == 0) continue;
      margins = {std::uint32_t{margins_[id]} >> 4U, margins_[id] & kManyMargins};
      if (margins.leading == kManyMargins || margins.trailing == kManyMargins) {
        margins = margins_of(vocab.token(sequence.tokens[i].id));
      }
    }
    trim_one(offsets[i - range.begin], margins, sequence.text, i == range.begin, add_prefix_space);
  }
}

}  // namespace mha::tokenizer
