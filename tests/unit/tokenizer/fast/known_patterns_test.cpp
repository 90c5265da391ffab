#include "tokenizer/fast/known_patterns.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "core/utf8.hpp"
#include "support/throws.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/pattern/regex_unicode.hpp"

namespace mha::tokenizer {
namespace {

using Spans = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Spans matches(const Pattern& pattern, std::string_view text) {
  std::vector<Span> found;
  pattern.find(text, found);
  Spans spans;
  for (const Span span : found) spans.emplace_back(span.begin, span.end);
  return spans;
}

std::shared_ptr<const Pattern> regex(const std::string& expression) { return make_regex_pattern(expression, "test"); }

/// The same expression by the engine: in a group it is none of the known ones.
std::shared_ptr<const Pattern> by_engine(const std::string& expression) { return regex("(?:" + expression + ")"); }

const std::string kKnown[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
    R"(\s+)",
    " {2,}",
    ".",
};

TEST_CASE("patterns matched by hand equal the engine on random texts") {
  constexpr std::string_view kParts[] = {
      "a", "S",      "s",      "t",      "re",     "VE",     "ll", "d",      "m",      "'", "'",   "1",  "23",
      " ", " ",      " ",      "\n",     "\r",     "\t",     ".",  "!",      "-",      "é", "ſ",   "中", "²",
      "Ⅳ", "\u00A0", "\u0085", "\u3000", "\u200B", "\u0301", "😀",  "\u0660", "\u2028", "K", "\x00"};
  std::mt19937 random(7);
  for (const std::string& expression : kKnown) {
    const auto known = find_known_pattern(expression);
    REQUIRE(known != nullptr);
    const auto engine = by_engine(expression);
    for (int round = 0; round < 4000; ++round) {
      std::string text;
      for (std::size_t n = random() % 14; n > 0; --n) text += kParts[random() % std::size(kParts)];
      INFO(expression << " on " << text);
      REQUIRE(matches(*known, text) == matches(*engine, text));
    }
  }
}

TEST_CASE("GPT-2's words equal the engine's across blocks of sixty-four bytes") {
  constexpr std::string_view kParts[] = {"a",    "s",     "t",  "re", "ve",     "ll", "'",
                                         "'",    "'s",    "1",  " ",  " ",      "  ", "\n",
                                         ".",    "é",     "中", "²",  "\u0301", "😀",  "abcdefg hijklm",
                                         "\x01", "\u00A0"};
  const auto known = find_known_pattern(kKnown[0]);
  const auto engine = by_engine(kKnown[0]);
  std::mt19937 random(11);
  for (int round = 0; round < 6000; ++round) {
    // Most texts have no white space beyond ASCII: with it they are matched one character at a time.
    const std::size_t parts = std::size(kParts) - (round % 8 != 0 ? 1 : 0);
    std::string text(random() % 70, "x '"[random() % 3]);
    for (std::size_t n = random() % 90; n > 0; --n) text += kParts[random() % parts];
    INFO(text);
    REQUIRE(matches(*known, text) == matches(*engine, text));
  }
  // Each thing that reaches over the border of a block, at each place.
  for (const std::string middle :
       {"'s", "'ll", "'s'", "x  y", " \n x", "中", "😀!", "'re  1", "\t a", "中中", "²²", "  "}) {
    for (std::size_t before = 56; before < 72; ++before) {
      for (const char fill : {'a', ' ', '1', '.'}) {
        for (const std::string_view end : {"", "b", " b"}) {
          const std::string text = std::string(before, fill) + middle + std::string(end);
          INFO(text);
          REQUIRE(matches(*known, text) == matches(*engine, text));
        }
      }
    }
  }
}

TEST_CASE("patterns matched by hand equal the engine on every character") {
  for (const std::string& expression : kKnown) {
    const auto known = find_known_pattern(expression);
    const auto engine = by_engine(expression);
    std::string text;
    for (char32_t c = 1; c < 0x110000; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      text += "x1 ";
      utf8::append(text, c);
      text += "a '";
      utf8::append(text, c);
      if (c % 64 != 0) continue;
      INFO(expression << " up to U+" << std::hex << static_cast<unsigned>(c));
      REQUIRE(matches(*known, text) == matches(*engine, text));
      text.clear();
    }
  }
}

TEST_CASE("ByteLevel's words are the matches of its pattern") {
  const std::string text = "xx Hello  world's 12 a\n b  ";
  std::vector<Span> words;
  split_like_gpt2(text, {2, static_cast<std::uint32_t>(text.size())}, words);
  Spans expected;
  for (const auto& [begin, end] : matches(*by_engine(kKnown[0]), std::string_view(text).substr(2))) {
    expected.emplace_back(begin + 2, end + 2);
  }
  Spans found;
  for (const Span word : words) found.emplace_back(word.begin, word.end);
  CHECK(found == expected);
}

TEST_CASE("classes know Unicode 16 whatever the installed engine knows") {
  // U+10D50 GARAY CAPITAL LETTER A, U+10D40 GARAY DIGIT ZERO, U+10D69 GARAY VOWEL SIGN E (all 16.0)
  const std::string letter = "\U00010D50";
  const std::string digit = "\U00010D40";
  const std::string mark = "\U00010D69";
  const auto whole = [](const std::string& expression, const std::string& text) {
    return matches(*regex(expression), text) == Spans{{0, static_cast<std::uint32_t>(text.size())}};
  };
  CHECK(whole(R"(\p{L})", letter));
  CHECK(whole(R"(\p{Lu}+)", letter));
  CHECK(whole(R"([\p{Letter}])", letter));
  CHECK(whole(R"(\w+)", letter + digit + mark));
  CHECK(whole(R"([\w]+)", letter));
  CHECK(whole(R"([[:alpha:]])", letter));
  CHECK(whole(R"(\d)", digit));
  CHECK(whole(R"(\p{Nd})", digit));
  CHECK(whole(R"(\p{Mn})", mark));
  CHECK(whole(R"(\p{Han})", "\U0002EBF0"));
  CHECK(matches(*regex(R"(\P{L}|[^\p{L}]|\p{^L}|\W|\p{Cn})"), letter).empty());
  CHECK(matches(*regex(R"(\b)"), letter + "a ") == Spans{{0, 0}, {5, 5}});
  CHECK(matches(*regex(R"(\B)"), letter + "a ") == Spans{{4, 4}, {6, 6}});
  CHECK(matches(*regex(R"(\bab\b)"), "ab abc ab") == Spans{{0, 2}, {7, 9}});
  CHECK(matches(*regex(R"([\b])"), "b\b") == Spans{{1, 2}});
  // Outside brackets \w has the superscripts and fractions of Latin-1, in brackets it has not.
  CHECK(whole(R"(\w)", "½"));
  CHECK(matches(*regex(R"(\W)"), "½").empty());
  CHECK(matches(*regex(R"([\w])"), "½").empty());
  CHECK(whole(R"([[:punct:]])", "€"));
  CHECK(matches(*regex(R"(\p{Punct})"), "€").empty());
}

TEST_CASE("what is no class stays as it is written") {
  for (const std::string same :
       {R"(\\p{L})", R"([]a]+)", R"(a\)", R"(\p{L)", R"(\p{Nope})", R"([^]\]]x)", R"([[:space:]])"}) {
    CHECK(with_current_unicode(same) == same);
  }
}

TEST_CASE("a regular expression may match nothing, but not twice at one place") {
  CHECK(matches(*regex("b*"), "abba") == Spans{{0, 0}, {1, 3}, {4, 4}});
  CHECK(matches(*regex("(?=a)"), "aa") == Spans{{0, 0}, {1, 1}});
  CHECK(matches(*regex("x"), "").empty());
}

TEST_CASE("a malformed expression is a model error in the engine's words, a hostile one an input error") {
  CHECK_THAT(test::error_of(ErrorKind::model, [] { regex("(a"); }),
             Catch::Contains("(a") && Catch::Contains("parenthesis"));
  test::error_of(ErrorKind::model, [] { regex("[z-a]"); });
  test::error_of(ErrorKind::model, [] { regex(std::string(100000, '(')); });
  const auto nested = regex("(?:a+)+b|(?:x|xx)+$y");
  CHECK_THAT(test::error_of(ErrorKind::input, [&] { matches(*nested, std::string(60, 'a') + std::string(60, 'x')); }),
             Catch::Contains("limit"));
}

}  // namespace
}  // namespace mha::tokenizer
