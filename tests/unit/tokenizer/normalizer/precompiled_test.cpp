#include <catch2/catch.hpp>

#include "support/gzip_file.hpp"
#include "support/shared.hpp"
#include "support/throws.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "unicode/grapheme.hpp"

namespace mha::tokenizer {
namespace {

std::vector<std::string> clusters(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = unicode::grapheme_end(text, at);
    found.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

TEST_CASE("texts are cut into extended grapheme clusters of Unicode 16") {
  using List = std::vector<std::string>;
  CHECK(clusters("a\r\nb\n\r") == List{"a", "\r\n", "b", "\n", "\r"});
  CHECK(clusters("e\u0301x\u200D") == List{"e\u0301", "x\u200D"});
  CHECK(clusters("\u1112\u1161\u11AB각ᆨ") == List{"\u1112\u1161\u11AB", "각ᆨ"});
  CHECK(clusters("🇫🇷🇩🇪🇫") == List{"🇫🇷", "🇩🇪", "🇫"});
  CHECK(clusters("👩\u200D👩\u200D👧a\u200D👩") == List{"👩\u200D👩\u200D👧", "a\u200D", "👩"});
  CHECK(clusters("👍🏽\u0301\u200D👍") == List{"👍🏽\u0301\u200D👍"});
  CHECK(clusters("\u0600a\u0903") == List{"\u0600a\u0903"});                                            // GB9b, GB9a
  CHECK(clusters("\u0915\u094D\u0937\u0915\u0937") == List{"\u0915\u094D\u0937", "\u0915", "\u0937"});  // GB9c
  CHECK(clusters("\u0915\u094D\u200D\u0937") == List{"\u0915\u094D\u200D\u0937"});
  CHECK(clusters("\u0301\u0301") == List{"\u0301\u0301"});
}

std::string u32(std::uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  return bytes;
}

TEST_CASE("a damaged character map is a model error when it is read") {
  const auto message = [](const std::string& blob) {
    return test::error_of(ErrorKind::model, [&] { Charsmap(blob, "here"); });
  };
  CHECK_THAT(message("abc"), Catch::Contains("here"));
  message(u32(0));
  message(u32(6) + "abcdef");
  message(u32(0xFFFFFFFC) + "abcd");
  message(u32(4) + u32(0) + "\xFF");
  // One entry, "a": the root leads to unit 97, that to its leaf, and the leaf to the replacement.
  const auto with = [](std::uint32_t entry, std::uint32_t value, const std::string& replacements) {
    std::string units;
    for (unsigned i = 0; i < 256; ++i) units += u32(i == 'a' ? entry : i == 'b' ? value : 0);
    return u32(1024) + units + replacements;
  };
  const std::uint32_t leaf_at_b = 'a' | 0x100U | ('a' ^ 'b') << 10U;
  const Charsmap map(with(leaf_at_b, 0x80000001U, std::string("xyz\0w", 5)), "here");
  CHECK(*map.find("ab") == "yz");
  CHECK(!map.find("b"));
  CHECK_THAT(message(with('a' | 0x100U | 0x1000U << 10U, 0, "x")), Catch::Contains("leaf"));
  CHECK_THAT(message(with(leaf_at_b, 7, "xyz")), Catch::Contains("byte 7 of 3"));
  CHECK_THAT(message(with(leaf_at_b, 1, "é")), Catch::Contains("byte 1 of 2"));
  CHECK(!Charsmap(u32(4) + u32(1U << 10U), "here").find("a"));  // the root's children lie behind the end: no entries
  CHECK(Charsmap("", "here").empty());
  CHECK(!Charsmap("", "here").find("a"));
}

TEST_CASE("base64 is read strictly") {
  CHECK(decode_base64("", "x").empty());
  CHECK(decode_base64("AQID", "x") == "\x01\x02\x03");
  CHECK(decode_base64("AQI=", "x") == "\x01\x02");
  CHECK(decode_base64("AQ==", "x") == "\x01");
  for (const char* bad : {"A", "AQ", "AQI", "AQ=I", "A===", "AQ-_", "AQID\n", "AR==", "===="}) {
    INFO(bad);
    test::error_of(ErrorKind::model, [&] { decode_base64(bad, "x"); });
  }
  CHECK(decode_base64("YWJjZA==", "x") == "abcd");
  CHECK(decode_base64("/wCA", "x") == std::string("\xFF\x00\x80", 3));
}

std::string normalized(const Normalizer& normalizer, const std::string& text, std::vector<Span>* spans = nullptr) {
  NormalizedText result;
  result.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  normalizer.normalize(result);
  const std::string out(result.text());
  if (spans != nullptr) {
    for (std::uint32_t i = 0; i < out.size(); ++i) spans->push_back(result.origin(i, i + 1));
  }
  return out;
}

TEST_CASE("Precompiled takes the shortest entry for a whole cluster and goes by characters in long ones") {
  const auto folder = test::shared("tokenizers/models/t5-small");
  if (folder.empty()) return;
  const std::string bytes = test::read_gzip(folder / "tokenizer.json.gz");
  const auto document = JsonDocument::parse(bytes, "t5-small");
  const auto map = Normalizer::from_json(document.root().at("normalizer"));
  CHECK(normalized(*map, "plain text") == "plain text");
  CHECK(normalized(*map, "\uFB01\u0301x") == "fix");  // the accent is swallowed
  CHECK(normalized(*map, "\u00A0\u0301") == " ");
  CHECK(normalized(*map, "e\u0302\u0301") == "ê");
  CHECK(normalized(*map, "か\u3099") == "か\u3099");  // six bytes: not composed
  CHECK(normalized(*map, "a\r\nb") == "a b");
  CHECK(normalized(*map, "a\u200Bb▁c") == "a b c");
  std::vector<Span> spans;
  CHECK(normalized(*map, "½\x01g", &spans) == "1⁄2g");  // "1⁄2" stands for ½, but its end for what was removed
  CHECK(spans.front() == Span{0, 2});
  CHECK(spans[4] == Span{2, 3});
  CHECK(spans.back() == Span{3, 4});
  spans.clear();
  CHECK(normalized(*map,
                   "\x01"
                   "abc",
                   &spans) == "abc");  // removed at the start: all spans lag behind
  CHECK(spans.back() == Span{2, 3});
}

}  // namespace
}  // namespace mha::tokenizer
