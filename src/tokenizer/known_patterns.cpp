#include "tokenizer/known_patterns.hpp"

#include <array>
#include <cstdint>

#include "mha/core/utf8.hpp"
#include "tokenizer/unicode/unicode.hpp"

namespace mha::tokenizer {
namespace {

enum Class : std::uint8_t { kLetter, kNumber, kSpace, kOther, kNotAscii };

constexpr std::array<std::uint8_t, 256> make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) {
    classes[c] = c >= 0x80                                                ? kNotAscii
                 : (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')       ? kLetter
                 : c >= '0' && c <= '9'                                   ? kNumber
                 : c == ' ' || (c >= 9 && c <= 13)                        ? kSpace
                                                                          : kOther;
  }
  return classes;
}
constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

/// A text and what stands at its positions.
struct Reader {
  const char* text;
  std::size_t size;

  /// Class of the character at `at` (before the end) and the position behind it.
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
  /// Behind the run of `c` that starts at `at`, of at most `limit` characters.
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

// \s+(?!\S)|\s+ for the run of white space [at, end): all of it at the end of the text, else all but the last character,
// unless that is the only one.
std::size_t space_run(const Reader& r, std::size_t at, std::size_t end) {
  if (end == r.size) return end;
  std::size_t last = end - 1;
  while ((static_cast<unsigned char>(r.text[last]) & 0xC0U) == 0x80U) --last;
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
  const Reader reader{text.data() + word.begin, word.end - word.begin};
  for (std::size_t at = 0; at < reader.size;) {
    const std::size_t end = Gpt2::match(reader, at);
    out.push_back({word.begin + static_cast<std::uint32_t>(at), word.begin + static_cast<std::uint32_t>(end)});
    at = end;
  }
}

std::shared_ptr<const Pattern> find_known_pattern(std::string_view expression) {
  if (expression == R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)") {
    return std::make_shared<KnownPattern<Gpt2>>();
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
