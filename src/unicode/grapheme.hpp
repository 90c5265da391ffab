#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// Extended grapheme clusters (UAX #29, Unicode 16.0), which the Precompiled normalizer walks.
namespace mha::unicode {

/// Grapheme_Cluster_Break; Extended_Pictographic and the consonants of rule GB9c have no value there and get one here.
enum GraphemeKind : std::uint8_t {
  kAny,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kRegional,
  kPrepend,
  kSpacingMark,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
  kPictographic,
  kConsonant,
  kKindMask = 0x1F,
  kConjunctExtend = 0x20,  ///< Indic_Conjunct_Break=Extend, beside the kind
  kConjunctLinker = 0x40,
};

struct GraphemeRange {
  std::uint32_t first;
  std::uint32_t last;
  int kind;
};
extern const GraphemeRange kGraphemeRanges[];
extern const std::size_t kGraphemeRangeCount;

/// Kind and conjunct bits of a code point.
unsigned grapheme_kind(char32_t c);

/// Where the cluster that starts at `begin` of valid UTF-8 ends; `begin` is a cluster border before the end of the
/// text.
std::size_t grapheme_end(std::string_view text, std::size_t begin);

}  // namespace mha::unicode
