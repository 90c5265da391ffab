#include "unicode/grapheme.hpp"

#include <algorithm>

#include "core/utf8.hpp"

namespace mha::unicode {

unsigned grapheme_kind(char32_t c) {
  if (c < 0x7F) return c >= 0x20 ? kAny : c == '\r' ? kCr : c == '\n' ? kLf : kControl;
  if (c >= 0x3400 && c <= 0xD7A3) {
    if (c < 0xA66F) return kAny;  // ideographs, Yi, Vai
    if (c >= 0xAC00) return (c - 0xAC00) % 28 == 0 ? kLv : kLvt;
  }
  const GraphemeRange* end = kGraphemeRanges + kGraphemeRangeCount;
  const GraphemeRange* range =
      std::lower_bound(kGraphemeRanges, end, c, [](const GraphemeRange& r, char32_t x) { return r.last < x; });
  if (range == end || range->first > c) return kAny;
  return static_cast<unsigned>(range->kind);
}

std::size_t grapheme_end(std::string_view text, std::size_t begin) {
  std::size_t position = begin;
  unsigned bits = grapheme_kind(utf8::next(text, position));
  unsigned before = bits & kKindMask;
  bool odd_regional = before == kRegional;
  bool pictographic = before == kPictographic;  // Extended_Pictographic Extend* so far (GB11)
  bool joined = false;                          // … and a ZWJ behind it
  bool consonant = before == kConsonant;        // a consonant and its extenders so far (GB9c)
  bool linked = false;                          // … with a linker among them
  while (position < text.size()) {
    std::size_t next = position;
    bits = grapheme_kind(utf8::next(text, next));
    const unsigned after = bits & kKindMask;
    const auto is_control = [](unsigned kind) { return kind == kControl || kind == kCr || kind == kLf; };
    bool together = false;
    if (is_control(before) || is_control(after)) {
      together = before == kCr && after == kLf;  // GB3–5
    } else if (after == kExtend || after == kZwj || after == kSpacingMark || before == kPrepend) {
      together = true;  // GB9, 9a, 9b
    } else if (after == kConsonant) {
      together = consonant && linked;  // GB9c
    } else if (after == kPictographic) {
      together = joined;  // GB11
    } else if (after == kRegional) {
      together = odd_regional;  // GB12, 13
    } else if (before == kL) {
      together = after == kL || after == kV || after == kLv || after == kLvt;  // GB6
    } else if (before == kLv || before == kV) {
      together = after == kV || after == kT;  // GB7
    } else if (before == kLvt || before == kT) {
      together = after == kT;  // GB8
    }
    if (!together) return position;

    odd_regional = after == kRegional && !odd_regional;
    joined = pictographic && after == kZwj;
    pictographic = after == kPictographic || (pictographic && after == kExtend);
    if ((bits & kConjunctLinker) != 0) {
      linked = consonant;
    } else if ((bits & kConjunctExtend) == 0) {
      consonant = after == kConsonant;
      linked = false;
    }
    before = after;
    position = next;
  }
  return position;
}

}  // namespace mha::unicode
