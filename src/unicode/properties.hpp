#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Properties of code points as the reference has them. Its libraries use five versions of Unicode side by side, and so
// do these tables. scripts/unicode/make_tables.py makes tables.cpp.
namespace mha::unicode {

enum Flag : std::uint32_t {
  kBertRemoved = 1U << 0,      ///< BertNormalizer, clean_text: removed (Unicode 8.0)
  kBertSpace = 1U << 1,        ///< … replaced by a space
  kBertNonspacing = 1U << 2,   ///< … strip_accents: removed (Mn of 8.0)
  kBertPunctuation = 1U << 3,  ///< BertPreTokenizer and Punctuation (ASCII punctuation and P of 8.0)
  kWhiteSpace = 1U << 4,       ///< White_Space; every \s
  kMark = 1U << 5,             ///< StripAccents (M of 9.0)
  kWord = 1U << 6,             ///< \w of Whitespace and of single_word (16.0)
  kNumeric = 1U << 7,          ///< Digits (N of 17.0)
  kOnigLetter = 1U << 8,       ///< Oniguruma's classes (16.0)
  kOnigNumber = 1U << 9,
  kOnigPunctuation = 1U << 10,
  kOnigMark = 1U << 11,
  kOnigWord = 1U << 12,
  kChangesLowercase = 1U << 13,  ///< (17.0)
  kChangesNfd = 1U << 14,        ///< a text without such a character is in that form already (9.0)
  kChangesNfkd = 1U << 15,
  kMayChangeNfc = 1U << 16,
  kMayChangeNfkc = 1U << 17,
  kChinese = 1U << 18,  ///< BertNormalizer, handle_chinese_chars, with its ranges' typo
};

extern const std::uint16_t kKindIndex[];
extern const std::uint8_t kKindBlocks[];
extern const std::uint32_t kKindFlags[];
extern const std::uint16_t kScriptIndex[];
extern const std::uint8_t kScriptBlocks[];
extern const std::uint16_t kClassIndex[];
extern const std::uint8_t kClassBlocks[];
extern const std::uint16_t kLowerIndex[];
extern const std::uint16_t kLowerBlocks[];
extern const std::uint32_t kLowerEntries[];
extern const char32_t kLowerPool[];
extern const std::uint16_t kNfdIndex[];
extern const std::uint16_t kNfdBlocks[];
extern const std::uint32_t kNfdEntries[];
extern const char32_t kNfdPool[];
extern const std::uint16_t kNfkdIndex[];
extern const std::uint16_t kNfkdBlocks[];
extern const std::uint32_t kNfkdEntries[];
extern const char32_t kNfkdPool[];
extern const std::uint64_t kPairs[];
extern const char32_t kComposites[];
extern const std::size_t kPairCount;

/// Value of a code point (at most U+10FFFF) in a two-stage table.
template <typename T>
T two_stage(const std::uint16_t* index, const T* blocks, char32_t c) {
  return blocks[static_cast<std::size_t>(index[c >> 6]) * 64 + (c & 63U)];
}

inline std::uint32_t flags(char32_t c) { return kKindFlags[two_stage(kKindIndex, kKindBlocks, c)]; }
inline bool is(char32_t c, std::uint32_t any_of) { return (flags(c) & any_of) != 0; }

/// Number of the script that UnicodeScripts sees; 0 is "Any".
inline std::uint8_t script(char32_t c) { return two_stage(kScriptIndex, kScriptBlocks, c); }
inline std::uint8_t combining_class(char32_t c) { return two_stage(kClassIndex, kClassBlocks, c); }

/// What a code point becomes in lower case, without context; empty where it stays. Only U+0130 becomes two.
std::basic_string_view<char32_t> lowercase(char32_t c);

/// One code point of a normal form with what it does to the old text: 0 replaces the next old character, a negative
/// number drops that many more, a positive one inserts.
struct Mapped {
  char32_t character;
  std::int32_t change;
};

enum class Form { nfd, nfkd, nfc, nfkc };
/// Whether a text may be cut before this character without a change of any normal form: it begins with a starter that
/// composes with nothing before it.
bool starts_anew(char32_t c);
/// The normal form of a text, in the counting of unicode-normalization-alignments 0.1.12 (decompose.rs, recompose.rs).
void normalize(std::string_view text, Form form, std::vector<Mapped>& out);

}  // namespace mha::unicode
