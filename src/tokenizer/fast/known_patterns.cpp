#include "tokenizer/fast/known_patterns.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/utf8.hpp"
#include "unicode/properties.hpp"

namespace mha::tokenizer {
namespace {

enum Class : std::uint8_t { kLetter, kNumber, kSpace, kOther, kNotAscii };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) {
    classes[c] = c >= 0x80                                          ? kNotAscii
                 : (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? kLetter
                 : c >= '0' && c <= '9'                             ? kNumber
                 : c == ' ' || (c >= 9 && c <= 13)                  ? kSpace
                                                                    : kOther;
  }
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

/// A text, and the classes of its characters.
struct Reader {
  const char* text;
  std::size_t size;

  /// Class of the character at `at` (before the end), and the position after it.
  std::uint8_t read(std::size_t at, std::size_t& behind) const {
    const std::uint8_t c = kClasses[static_cast<unsigned char>(text[at])];
    behind = at + 1;
    if (c != kNotAscii) return c;
    behind = at;
    const std::uint32_t flags = unicode::flags(utf8::next({text, size}, behind));
    if ((flags & unicode::kOnigLetter) != 0) return kLetter;
    if ((flags & unicode::kOnigNumber) != 0) return kNumber;
    return (flags & unicode::kWhiteSpace) != 0 ? kSpace : kOther;
  }
  bool is(std::size_t at, char c) const { return at < size && text[at] == c; }
  bool is_line_end(std::size_t at) const { return is(at, '\n') || is(at, '\r'); }
  /// The end of the run of `c` that starts at `at`, of at most `limit` characters.
  std::size_t run(std::size_t at, std::uint8_t c, std::size_t limit = static_cast<std::size_t>(-1)) const {
    while (at < size && limit-- > 0) {
      std::size_t behind = 0;
      if (read(at, behind) != c) break;
      at = behind;
    }
    return at;
  }
};

// 's|'t|'re|'ve|'m|'ll|'d, at an apostrophe.
std::size_t contraction(const Reader& r, std::size_t at) {
  if (at + 1 >= r.size) return at;
  const char a = r.text[at + 1];
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
  if ((a == 'r' || a == 'v') && r.is(at + 2, 'e')) return at + 3;
  if (a == 'l' && r.is(at + 2, 'l')) return at + 3;
  return at;
}

// The same without regard to case; U+017F (ſ) folds to s.
std::size_t contraction_any_case(const Reader& r, std::size_t at) {
  const auto lower = [&](std::size_t i) { return i < r.size ? static_cast<char>(r.text[i] | 0x20) : '\0'; };
  const char a = lower(at + 1);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
  if ((a == 'r' || a == 'v') && lower(at + 2) == 'e') return at + 3;
  if (a == 'l' && lower(at + 2) == 'l') return at + 3;
  if (r.is(at + 1, '\xC5') && r.is(at + 2, '\xBF')) return at + 3;
  return at;
}

// \s+(?!\S)|\s+ for the run of white space [at, end): all of it at the end of the text, else all but the last
// character, unless that is the only one.
std::size_t space_run(const Reader& r, std::size_t at, std::size_t end) {
  if (end == r.size) return end;
  std::size_t last = end - 1;
  while (utf8::is_continuation(r.text[last])) --last;
  return last > at ? last : end;
}

struct Gpt2 {
  static std::size_t match(const Reader& r, std::size_t at) {
    std::size_t behind = 0;
    std::uint8_t c = r.read(at, behind);
    if (c == kSpace) {
      if (r.text[at] == ' ' && behind < r.size) {
        std::size_t next = 0;
        const std::uint8_t second = r.read(behind, next);
        if (second != kSpace) return r.run(next, second);
      }
      return space_run(r, at, r.run(behind, kSpace));
    }
    if (r.text[at] == '\'') {
      const std::size_t end = contraction(r, at);
      if (end > at) return end;
    }
    return r.run(behind, c);
  }
};

constexpr std::size_t kBlock = 64;

/// Bit masks of character classes, one bit per byte of a block.
struct Classes {
  std::uint64_t letters = 0;
  std::uint64_t numbers = 0;
  std::uint64_t spaces = 0;  ///< \s
  std::uint64_t blanks = 0;  ///< U+0020 alone
  std::uint64_t apostrophes = 0;
  std::uint64_t beyond_ascii = 0;  ///< in none of the others yet
};

#if defined(__SSE2__)
Classes classify(const char* bytes) {
  const auto set = [](int value) { return _mm_set1_epi8(static_cast<char>(value)); };
  // Bytes in [first, first + count): one unsigned comparison.
  const auto within = [&](__m128i v, int first, int count) {
    const __m128i offset = _mm_sub_epi8(v, set(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(offset, set(count - 1)), offset);
  };
  Classes classes;
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * part));
    const auto note = [&](std::uint64_t& bits, __m128i mask) {
      bits |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(mask))) << (16 * part);
    };
    const __m128i blank = _mm_cmpeq_epi8(v, set(' '));
    note(classes.letters, within(_mm_or_si128(v, set(0x20)), 'a', 26));
    note(classes.numbers, within(v, '0', 10));
    note(classes.spaces, _mm_or_si128(blank, within(v, '\t', 5)));
    note(classes.blanks, blank);
    note(classes.apostrophes, _mm_cmpeq_epi8(v, set('\'')));
    note(classes.beyond_ascii, v);
  }
  return classes;
}
#else
Classes classify(const char* bytes) {
  Classes classes;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    const auto note = [&](std::uint64_t& bits, bool is) { bits |= static_cast<std::uint64_t>(is ? 1 : 0) << i; };
    const unsigned lower = c | 0x20U;
    note(classes.letters, c < 0x80 && lower >= 'a' && lower <= 'z');
    note(classes.numbers, c >= '0' && c <= '9');
    note(classes.spaces, c == ' ' || (c >= '\t' && c <= '\r'));
    note(classes.blanks, c == ' ');
    note(classes.apostrophes, c == '\'');
    note(classes.beyond_ascii, c >= 0x80);
  }
  return classes;
}
#endif

/// Cuts a text by GPT-2's pattern, one block at a time. The class of each byte is a bit, and the bits decide where
/// words begin. Members carry the state into the next block.
class Gpt2Words {
 public:
  Gpt2Words(std::string_view text, std::uint32_t offset, std::vector<Span>& out)
      : text_(text), offset_(offset), out_(out) {}

  /// False if there was white space beyond ASCII, whose last character is not one byte.
  bool find() {
    for (std::size_t at = 0; at < text_.size(); at += kBlock) {
      const std::size_t size = std::min(kBlock, text_.size() - at);
      char rest[kBlock] = {};
      if (size < kBlock) std::memcpy(rest, text_.data() + at, size);
      Classes classes = classify(size < kBlock ? rest : text_.data() + at);
      if (classes.beyond_ascii != 0 && !read_characters(at, classes)) return false;
      cut(at, classes, ~std::uint64_t{0} >> (kBlock - size));
    }
    end_word(text_.size());
    return true;
  }

 private:
  /// Gives the bytes of characters beyond ASCII the class of the character.
  bool read_characters(std::size_t at, Classes& classes) {
    const auto note = [&](std::uint32_t flags, std::uint64_t bytes) {
      if ((flags & unicode::kOnigLetter) != 0) {
        classes.letters |= bytes;
      } else if ((flags & unicode::kOnigNumber) != 0) {
        classes.numbers |= bytes;
      }
    };
    note(flags_of_character_, rest_of_character_);
    std::uint64_t left = classes.beyond_ascii & ~rest_of_character_;
    rest_of_character_ = 0;
    while (left != 0) {
      const auto place = static_cast<std::size_t>(std::countr_zero(left));
      std::size_t behind = at + place;
      const std::uint32_t flags = unicode::flags(utf8::next(text_, behind));
      if ((flags & unicode::kWhiteSpace) != 0) return false;
      const std::size_t size = behind - at - place;
      const std::uint64_t bytes = ((std::uint64_t{1} << size) - 1) << place;
      note(flags, bytes);
      left &= ~bytes;
      if (place + size > kBlock) {
        flags_of_character_ = flags;
        rest_of_character_ = (std::uint64_t{1} << (place + size - kBlock)) - 1;
      }
    }
    return true;
  }

  void cut(std::size_t at, const Classes& classes, std::uint64_t valid) {
    const std::uint64_t spaces = classes.spaces & valid;
    const std::uint64_t others = valid & ~(classes.letters | classes.numbers | spaces);
    const auto shifted = [](std::uint64_t bits, std::uint64_t& carry) {
      const std::uint64_t result = bits << 1 | carry;
      carry = bits >> 63;
      return result;
    };
    const std::uint64_t behind_letter = shifted(classes.letters, letter_);
    const std::uint64_t behind_number = shifted(classes.numbers, number_);
    const std::uint64_t behind_other = shifted(others, other_);
    const std::uint64_t behind_blank = shifted(classes.blanks, blank_);
    const std::uint64_t behind_spaces = spaces_;
    spaces_ = spaces >> 62 & spaces >> 63;
    const std::uint64_t behind_space = shifted(spaces, space_);

    // A word continues in its own class, and begins at the blank before it. The last character of white space before a
    // word is a word of its own or belongs to that word.
    const std::uint64_t goes_on = (classes.letters & behind_letter) | (classes.numbers & behind_number) |
                                  (others & behind_other) | (spaces & behind_space) | (~spaces & behind_blank);
    const std::uint64_t enters = valid & ~spaces & behind_space;
    if ((enters & behind_spaces) != 0) begin_word(at - 1);
    std::uint64_t begins = (valid & ~goes_on) | (enters >> 1 & spaces & behind_space);

    begins = (begins | forced_) & ~joined_;
    forced_ = joined_ = 0;
    for (std::uint64_t left = classes.apostrophes & begins; left != 0; left &= left - 1) {
      contract(at, static_cast<std::size_t>(std::countr_zero(left)), begins);
    }
    for (; begins != 0; begins &= begins - 1) begin_word(at + static_cast<std::size_t>(std::countr_zero(begins)));
  }

  /// At an apostrophe that begins a word: the letters of a contraction belong to it, and a word begins after them.
  void contract(std::size_t at, std::size_t place, std::uint64_t& begins) {
    const std::size_t end = contraction({text_.data(), text_.size()}, at + place) - at;
    if (end == place) return;
    const auto bit = [](std::size_t i) { return std::uint64_t{1} << i % kBlock; };
    if (place + 1 < kBlock) {
      begins &= ~bit(place + 1);
    } else {
      joined_ = bit(place + 1);
    }
    if (at + end < text_.size()) (end < kBlock ? begins : forced_) |= bit(end);
  }

  void begin_word(std::size_t at) {
    if (at > 0) end_word(at);
  }
  void end_word(std::size_t at) {
    const auto end = static_cast<std::uint32_t>(at);
    out_.push_back({offset_ + begin_, offset_ + end});
    begin_ = end;
  }

  std::string_view text_;
  std::uint32_t offset_;
  std::vector<Span>& out_;
  std::uint32_t begin_ = 0;  ///< of the word that has not ended yet
  // Of the block before: whether its last byte is one of them, …
  std::uint64_t letter_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t other_ = 0;
  std::uint64_t blank_ = 0;
  std::uint64_t space_ = 0;
  std::uint64_t spaces_ = 0;  ///< … and the one before it too
  // For the next block: positions where a contraction makes a word begin, or prevents it.
  std::uint64_t forced_ = 0;
  std::uint64_t joined_ = 0;
  std::uint64_t rest_of_character_ = 0;  ///< its first bytes that belong to the last character of the block before
  std::uint32_t flags_of_character_ = 0;
};

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
template <std::size_t kDigits>
struct Gpt4 {
  static std::size_t match(const Reader& r, std::size_t at) {
    if (r.text[at] == '\'') {
      const std::size_t end = contraction_any_case(r, at);
      if (end > at) return end;
    }
    std::size_t behind = 0;
    const std::uint8_t c = r.read(at, behind);
    if (c == kLetter) return r.run(behind, kLetter);
    if (c == kNumber) return r.run(behind, kNumber, kDigits - 1);
    std::size_t next = behind;
    const std::uint8_t second = behind < r.size ? r.read(behind, next) : static_cast<std::uint8_t>(kNotAscii);
    if (second == kLetter && !r.is_line_end(at)) return r.run(next, kLetter);
    if (c == kOther || (r.text[at] == ' ' && second == kOther)) {
      std::size_t end = r.run(behind, kOther);
      while (r.is_line_end(end)) ++end;
      return end;
    }
    const std::size_t end = r.run(behind, kSpace);
    for (std::size_t i = end; i-- > at;) {
      if (r.is_line_end(i)) return i + 1;
    }
    return space_run(r, at, end);
  }
};

// 's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
struct Clip {
  static std::size_t match(const Reader& r, std::size_t at) {
    if (r.text[at] == '\'') {
      const std::size_t end = contraction(r, at);
      if (end > at) return end;
    }
    std::size_t behind = 0;
    const std::uint8_t c = r.read(at, behind);
    if (c == kSpace) return at;
    return c == kNumber ? behind : r.run(behind, c);
  }
};

// \s+
struct Spaces {
  static std::size_t match(const Reader& r, std::size_t at) { return r.run(at, kSpace); }
};

// ␣{2,}
struct SeveralSpaces {
  static std::size_t match(const Reader& r, std::size_t at) {
    std::size_t end = at;
    while (r.is(end, ' ')) ++end;
    return end - at >= 2 ? end : at;
  }
};

// .
struct AnyCharacter {
  static std::size_t match(const Reader& r, std::size_t at) {
    if (r.text[at] == '\n') return at;
    std::size_t behind = 0;
    r.read(at, behind);
    return behind;
  }
};

// Matches everything, so that its matches are the words.
class Gpt2Pattern final : public Pattern {
 public:
  void find(std::string_view text, std::vector<Span>& out) const override {
    split_like_gpt2(text, {0, static_cast<std::uint32_t>(text.size())}, out);
  }
};

template <typename Matcher>
class KnownPattern final : public Pattern {
 public:
  void find(std::string_view text, std::vector<Span>& out) const override {
    const Reader reader{text.data(), text.size()};
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = Matcher::match(reader, at);
      if (end > at) {
        out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
      } else {
        reader.read(at, end);
      }
      at = end;
    }
  }
};

}  // namespace

void split_like_gpt2(std::string_view text, Span word, std::vector<Span>& out) {
  const std::string_view part = text.substr(word.begin, word.end - word.begin);
  const std::size_t first = out.size();
  if (part.empty() || Gpt2Words(part, word.begin, out).find()) return;
  out.resize(first);
  const Reader reader{part.data(), part.size()};
  for (std::size_t at = 0; at < reader.size;) {
    const std::size_t end = Gpt2::match(reader, at);
    out.push_back({word.begin + static_cast<std::uint32_t>(at), word.begin + static_cast<std::uint32_t>(end)});
    at = end;
  }
}

std::shared_ptr<const Pattern> find_known_pattern(std::string_view expression) {
  if (expression == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)") {
    return std::make_shared<Gpt2Pattern>();
  }
  constexpr std::string_view kGpt4Head = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
  constexpr std::string_view kGpt4Tail = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  if (expression.starts_with(kGpt4Head) && expression.ends_with(kGpt4Tail) &&
      expression.size() >= kGpt4Head.size() + kGpt4Tail.size()) {
    const std::string_view digits =
        expression.substr(kGpt4Head.size(), expression.size() - kGpt4Head.size() - kGpt4Tail.size());
    if (digits.empty()) return std::make_shared<KnownPattern<Gpt4<1>>>();
    if (digits == "{1,3}") return std::make_shared<KnownPattern<Gpt4<3>>>();
  }
  if (expression == R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)") {
    return std::make_shared<KnownPattern<Clip>>();
  }
  if (expression == R"(\s+)") return std::make_shared<KnownPattern<Spaces>>();
  if (expression == " {2,}") return std::make_shared<KnownPattern<SeveralSpaces>>();
  if (expression == ".") return std::make_shared<KnownPattern<AnyCharacter>>();
  return nullptr;
}

}  // namespace mha::tokenizer
