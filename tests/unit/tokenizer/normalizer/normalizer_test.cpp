#include <catch2/catch.hpp>

#include "support/throws.hpp"
#include "support/tokenizer_stages.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::Span;
using mha::test::error_of;
using mha::test::normalized;
using Spans = std::vector<Span>;

namespace {

std::string bert(bool clean, bool chinese, const char* strip, bool lower) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  return std::string(R"({"type":"BertNormalizer","clean_text":)") + flag(clean) + R"(,"handle_chinese_chars":)" +
         flag(chinese) + R"(,"strip_accents":)" + strip + R"(,"lowercase":)" + flag(lower) + "}";
}

const std::string kUncased = bert(true, true, "null", true);
const std::string kCased = bert(true, true, "null", false);

std::string type(const char* name) { return std::string(R"({"type":")") + name + "\"}"; }

std::string replace(const std::string& pattern, const std::string& content) {
  return R"({"type":"Replace","pattern":{"String":")" + pattern + R"("},"content":")" + content + R"("})";
}

}  // namespace

TEST_CASE("bert normalizer: ascii is lower-cased in place") {
  const auto result = normalized(kUncased, "A b\tC");
  CHECK(result.text == "a b c");
  CHECK(result.origins == Spans{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}});
}

TEST_CASE("bert normalizer: a removed control joins its neighbours and is covered by neither") {
  const auto result = normalized(kCased,
                                 "ab\xC2\x85"
                                 "cd");
  CHECK(result.text == "abcd");
  CHECK(result.origins == Spans{{0, 1}, {1, 2}, {4, 5}, {5, 6}});
}

TEST_CASE("bert normalizer: accents go, with upper-case ones, and the rest keeps its place") {
  const auto result = normalized(kUncased, "É\u0301x");
  CHECK(result.text == "ex");
  CHECK(result.origins == Spans{{0, 2}, {4, 5}});
}

TEST_CASE("bert normalizer: the parts of a Hangul syllable share its span") {
  const auto result = normalized(kUncased, "각");
  CHECK(result.text == "\u1100\u1161\u11A8");
  CHECK(result.origins == Spans(9, Span{0, 3}));
}

TEST_CASE("bert normalizer: spaces beside an ideograph stand for the ideograph") {
  const auto result = normalized(kCased, "a中b");
  CHECK(result.text == "a 中 b");
  CHECK(result.origins == Spans{{0, 1}, {1, 4}, {1, 4}, {1, 4}, {1, 4}, {1, 4}, {4, 5}});
}

TEST_CASE("bert normalizer: dotted capital i keeps its dot when accents are kept") {
  CHECK(normalized(bert(true, true, "false", true), "İ").text == "i\u0307");
  CHECK(normalized(kUncased, "İ").text == "i");
  CHECK(normalized(bert(false, false, "true", false), "é").text == "e");
}

TEST_CASE("bert normalizer: without cleaning, controls and NUL stay") {
  const std::string text(
      "a\0\x01\xC2\x85"
      "b",
      6);
  CHECK(normalized(bert(false, false, "false", false), text).text == text);
}

TEST_CASE("lower case: per code point, without a final sigma") {
  CHECK(normalized(type("Lowercase"), "ΑΣ").text == "ασ");
}

TEST_CASE("lower case: a longer result shares its character's span") {
  const auto result = normalized(type("Lowercase"), "xȺY");  // U+023A becomes U+2C65, three bytes
  CHECK(result.text == "x\u2C65y");
  CHECK(result.origins == Spans{{0, 1}, {1, 3}, {1, 3}, {1, 3}, {3, 4}});
}

TEST_CASE("nfc: a composed character stands for its first part, the rest is not covered") {
  const auto result = normalized(type("NFC"), "e\u0301x");
  CHECK(result.text == "éx");
  CHECK(result.origins == Spans{{0, 1}, {0, 1}, {3, 4}});
}

TEST_CASE("normal forms: combining marks are put in order, stable within a class") {
  CHECK(normalized(type("NFD"), "a\u0301\u0316").text == "a\u0316\u0301");
  CHECK(normalized(type("NFC"), "a\u0316\u0301").text == "á\u0316");
  CHECK(normalized(type("NFC"), "a\u0316\u0316\u0301").text == "á\u0316\u0316");
  CHECK(normalized(type("NFC"), "가\u11A8").text == "각");
  CHECK(normalized(type("NFC"), "\u1100\u1161\u11A8").text == "각");
  CHECK(normalized(type("NFKC"), "ﬁ½").text == "fi1⁄2");
  CHECK(normalized(type("NFKD"), "ﬁé").text == "fie\u0301");
}

TEST_CASE("normal forms: a text that is in the form already stays one to one") {
  const std::string text = "naïve 中文";
  mha::tokenizer::NormalizedText result;
  result.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  const auto document = mha::tokenizer::JsonDocument::parse(R"({"type":"NFC"})", "test");
  mha::tokenizer::Normalizer::from_json(document.root())->normalize(result);
  CHECK(result.one_to_one());
}

TEST_CASE("normal forms: a long run is worked on in parts, which changes nothing") {
  struct Case {
    const char* form;
    std::string unit;
    std::string wanted;
  };
  for (const Case& c :
       {Case{"NFD", "é", "e\u0301"}, Case{"NFC", "e\u0301", "é"}, Case{"NFKD", "ﷺ", normalized(type("NFKD"), "ﷺ").text},
        Case{"NFC", "\u1112\u1161\u11AB", "한"}, Case{"NFKC", "ｶﾞ", "ガ"}, Case{"NFC", "\u0344", "\u0308\u0301"}}) {
    INFO(c.form << ' ' << c.unit);
    const std::size_t count = 3 * 65536 / c.unit.size();
    std::string text;
    std::string wanted;
    for (std::size_t i = 0; i < count; ++i) {
      text += c.unit;
      wanted += c.wanted;
    }
    const auto once = normalized(type(c.form), c.unit);
    const auto result = normalized(type(c.form), text);
    if (once.text != c.wanted) continue;  // marks of neighbours change places
    CHECK(result.text == wanted);
    Spans origins;
    for (std::size_t i = 0; i < count; ++i) {
      const auto shift = static_cast<std::uint32_t>(i * c.unit.size());
      for (const Span span : once.origins) origins.push_back({span.begin + shift, span.end + shift});
    }
    CHECK(result.origins == origins);
  }
}

TEST_CASE("normal forms: marks are put in order however many there are") {
  std::string text = "a";
  std::string below;
  std::string above;
  for (int i = 0; i < 50000; ++i) {
    text += "\u0301\u0323";
    below += "\u0323";
    above += "\u0301";
  }
  CHECK(normalized(type("NFD"), text).text == "a" + below + above);
}

TEST_CASE("normalized text: what was kept and what was put is told apart wherever one looks, in any order") {
  const std::string text = "ab é cd ef é gh";  // é has two bytes
  mha::tokenizer::NormalizedText result;
  result.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  result.begin_rewrite();
  result.copy(3, 9);     // "é cd "
  result.put("xyz", 9);  // stands for "e"
  result.copy(9, 17);    // "ef é gh"
  result.end_rewrite();
  CHECK(result.text() == "é cd xyzef é gh");
  const Spans wanted{{3, 5},  {3, 5},   {5, 6},   {6, 7},   {7, 8},   {8, 9},   {9, 10},  {9, 10}, {9, 10},
                     {9, 10}, {10, 11}, {11, 12}, {12, 14}, {12, 14}, {14, 15}, {15, 16}, {16, 17}};
  for (const std::uint32_t step : {1U, 5U, 7U}) {
    for (std::uint32_t i = 0, at = 0; i < wanted.size();
         ++i, at = (at + step) % static_cast<std::uint32_t>(wanted.size())) {
      CHECK(result.origin(at, at + 1) == wanted[at]);
    }
  }
  CHECK(result.origin(1, 7) == Span{3, 10});
  mha::tokenizer::NormalizedText part;
  result.slice(5, 11, part);
  CHECK(part.text() == " xyzef");
  CHECK(part.origin(0, 1) == Span{8, 9});
  CHECK(part.origin(1, 6) == Span{9, 11});
  CHECK(part.before(0) == Span{8, 8});
}

TEST_CASE("strip: white space goes from the ends that were asked for") {
  const auto strip = [](const char* left, const char* right) {
    return std::string(R"({"type":"Strip","strip_left":)") + left + R"(,"strip_right":)" + right + "}";
  };
  CHECK(normalized(strip("true", "false"), "\u3000 a ").text == "a ");
  CHECK(normalized(strip("false", "true"), " a \u2003").text == " a");
  CHECK(normalized(strip("true", "true"), " \u00A0\n").text.empty());
  CHECK(normalized(strip("true", "true"), " a ").origins == Spans{{1, 2}});
}

TEST_CASE("strip accents: takes all marks, spacing ones too") {
  CHECK(normalized(type("StripAccents"), "हिन्दी").text == "हनद");
}

TEST_CASE("replace: the replacement stands for the last byte's character of the match") {
  const auto result = normalized(replace("``", "\\\""), "a``b");
  CHECK(result.text == "a\"b");
  CHECK(result.origins == Spans{{0, 1}, {2, 3}, {3, 4}});
  CHECK(normalized(replace("x", ""), "xaxbx").text == "ab");
  CHECK(normalized(replace("", "-"), "aé").text == "-a-é-");
}

TEST_CASE("prepend: shares the first character's span, and leaves an empty text alone") {
  const std::string json = R"({"type":"Prepend","prepend":"▁"})";
  const auto result = normalized(json, "ab");
  CHECK(result.text == "▁ab");
  CHECK(result.origins == Spans{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {1, 2}});
  CHECK(normalized(json, "").text.empty());
}

TEST_CASE("nmt: controls go, odd spaces and the metaspace character become a space") {
  CHECK(normalized(type("Nmt"), "a\x01\tb\u2581\u200Bc").text == "a b  c");
}

TEST_CASE("normalizer sequence: runs in order") {
  const std::string json =
      R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]})";
  const auto result = normalized(json, "ÀB");
  CHECK(result.text == "ab");
  CHECK(result.origins == Spans{{0, 2}, {2, 3}});
}

TEST_CASE("normalizer: what blows a text up beyond measure is refused") {
  std::string steps;
  for (int i = 0; i < 12; ++i) steps += (i > 0 ? "," : "") + replace("a", std::string(64, 'a'));
  const std::string json = R"({"type":"Sequence","normalizers":[)" + steps + "]}";
  CHECK_THAT(error_of(ErrorKind::input, [&] { normalized(json, "aaa"); }), Contains("times the text's size"));
}

TEST_CASE("normalizer: an unknown type and a missing flag are named") {
  CHECK_THAT(error_of(ErrorKind::model, [] { normalized(R"({"type":"Bort"})", ""); }),
             Contains("unknown normalizer \"Bort\""));
  CHECK_THAT(error_of(ErrorKind::model, [] { normalized(R"({"type":"Strip","strip_left":true})", ""); }),
             Contains("\"strip_right\""));
}
