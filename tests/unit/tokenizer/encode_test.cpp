#include <catch2/catch.hpp>
#include <random>

#include "core/utf8.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "support/throws.hpp"
#include "support/tokenizer_stages.hpp"

using Catch::Contains;
using mha::EncodeOptions;
using mha::Encoding;
using mha::ErrorKind;
using mha::Span;
using mha::Tokenizer;
using mha::TokenizerScratch;
using mha::TruncationSide;
using mha::TruncationStrategy;
using mha::test::error_of;
using Ids = std::vector<std::int32_t>;
using Spans = std::vector<Span>;

namespace {

// Letters are ids 10 to 35; [CLS] 1, [SEP] 2, [MASK] 3.
std::string letters_json(const std::string& extra = "") {
  std::string vocab = R"("[UNK]":0,"[CLS]":1,"[SEP]":2,"[MASK]":3)";
  for (int i = 0; i < 26; ++i) {
    vocab += std::string(",\"") + static_cast<char>('a' + i) + "\":" + std::to_string(10 + i);
    vocab += std::string(",\"##") + static_cast<char>('a' + i) + "\":" + std::to_string(40 + i);
  }
  return R"({"version":"1.0","truncation":{"max_length":3},"added_tokens":[)"
         R"({"id":3,"content":"[MASK]","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true},)"
         R"({"id":99,"content":"NEW","single_word":false,"lstrip":false,"rstrip":false,"normalized":true,"special":false}],)"
         R"("normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},)"
         R"("pre_tokenizer":{"type":"BertPreTokenizer"},)"
         R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},)"
         R"("decoder":null,)" +
         extra +
         R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
         vocab + "}}}";
}

std::shared_ptr<const Tokenizer> letters() { return Tokenizer::from_json(letters_json(), "test"); }

Encoding encode(const Tokenizer& tokenizer, std::string_view text, std::optional<std::string_view> pair = {},
                const EncodeOptions& options = {}) {
  TokenizerScratch scratch;
  Encoding out;
  tokenizer.encode(text, pair, options, scratch, out);
  return out;
}

EncodeOptions limit(std::size_t length) {
  EncodeOptions options;
  options.max_length = length;
  return options;
}

}  // namespace

TEST_CASE("tokenizer: ids, offsets, masks, words of a text") {
  const Encoding out = encode(*letters(), "Ab é!");
  CHECK(out.input_ids == Ids{1, 10, 41, 14, 0, 2});
  CHECK(out.offsets == Spans{{0, 0}, {0, 1}, {1, 2}, {3, 5}, {5, 6}, {0, 0}});
  CHECK(out.special_tokens_mask == std::vector<std::uint8_t>{1, 0, 0, 0, 0, 1});
  CHECK(out.word_ids == Ids{-1, 0, 0, 1, 2, -1});
  CHECK(out.sequence_ids == std::vector<std::int8_t>{-1, 0, 0, 0, 0, -1});
  CHECK(out.full_length == 6);
  CHECK_FALSE(out.truncated());
}

TEST_CASE("tokenizer: an added token takes its spaces along, and a normalized one matches its own form") {
  const auto tokenizer = letters();
  const Encoding out = encode(*tokenizer, "a [MASK]new");
  CHECK(out.input_ids == Ids{1, 10, 3, 56, 2});
  CHECK(out.offsets == Spans{{0, 0}, {0, 1}, {1, 8}, {8, 11}, {0, 0}});
  CHECK(tokenizer->token(56) == "NEW");
  CHECK(tokenizer->vocab_size() == 57);
  CHECK(tokenizer->role_id("mask_token") == 3);
  CHECK(tokenizer->role_id("bos_token") == std::nullopt);
  EncodeOptions plain;
  plain.plain_specials = true;
  CHECK(encode(*tokenizer, "[MASK]", {}, plain).input_ids == Ids{1, 0, 22, 40, 58, 50, 0, 2});
}

TEST_CASE("tokenizer: a pair's offsets count from its own start") {
  const Encoding out = encode(*letters(), "a b", "c");
  CHECK(out.input_ids == Ids{1, 10, 11, 2, 12, 2});
  CHECK(out.token_type_ids == Ids{0, 0, 0, 0, 1, 1});
  CHECK(out.offsets[4] == Span{0, 1});
  CHECK(out.sequence_ids == std::vector<std::int8_t>{-1, 0, 0, -1, 1, -1});
  CHECK(encode(*letters(), "a", "").input_ids == Ids{1, 10, 2, 2});
}

TEST_CASE("truncation: keeps either end, counts specials, says what was cut") {
  EncodeOptions options = limit(4);
  Encoding out = encode(*letters(), "a b c d", {}, options);
  CHECK(out.input_ids == Ids{1, 10, 11, 2});
  CHECK(out.full_length == 6);
  CHECK(out.truncated());
  CHECK(out.overflowing.empty());
  options.keep = TruncationSide::tail;
  CHECK(encode(*letters(), "a b c d", {}, options).input_ids == Ids{1, 12, 13, 2});
  CHECK(encode(*letters(), "a b c d", {}, limit(2)).input_ids == Ids{1, 2});
  CHECK(error_of(ErrorKind::usage, [] { encode(*letters(), "a", {}, limit(1)); }) ==
        "tokenizer: maximum length: expected at least the 2 special tokens, got 1");
}

TEST_CASE("truncation: the file's own limit is not applied") { CHECK(encode(*letters(), "a b c d").size() == 6); }

TEST_CASE("truncation: of a pair, the longer text gives first") {
  CHECK(encode(*letters(), "a b c d", "x", limit(6)).input_ids == Ids{1, 10, 11, 2, 33, 2});
  CHECK(encode(*letters(), "a b c d", "w x y z", limit(8)).input_ids == Ids{1, 10, 11, 2, 32, 33, 34, 2});
  EncodeOptions options = limit(6);
  options.strategy = TruncationStrategy::only_second;
  CHECK(encode(*letters(), "a b", "w x y z", options).input_ids == Ids{1, 10, 11, 2, 32, 2});
  CHECK_THAT(error_of(ErrorKind::input, [&] { encode(*letters(), "a b c", "w x", options); }), Contains("second text"));
  CHECK_THAT(error_of(ErrorKind::input, [&] { encode(*letters(), "a b c d e", {}, options); }),
             Contains("second text"));
}

TEST_CASE("windows: neighbours share the stride, and every token is in one") {
  EncodeOptions options = limit(5);
  options.stride = 1;
  const Encoding out = encode(*letters(), "a b c d e f", {}, options);
  CHECK(out.input_ids == Ids{1, 10, 11, 12, 2});
  REQUIRE(out.overflowing.size() == 2);
  CHECK(out.overflowing[0].input_ids == Ids{1, 12, 13, 14, 2});
  CHECK(out.overflowing[1].input_ids == Ids{1, 14, 15, 2});
  CHECK(out.overflowing[1].offsets == Spans{{0, 0}, {8, 9}, {10, 11}, {0, 0}});
  options.keep = TruncationSide::tail;
  CHECK(encode(*letters(), "a b c d e f", {}, options).overflowing.back().input_ids == Ids{1, 10, 11, 2});
  options.stride = 3;
  CHECK_THAT(error_of(ErrorKind::usage, [&] { encode(*letters(), "a b c d e f", {}, options); }), Contains("stride"));
}

TEST_CASE("tokenizer: with_lowercase lowers the text but still finds the specials") {
  const std::string cased = letters_json();
  std::string json = cased;
  json.replace(json.find(R"("lowercase":true)"), 16, R"("lowercase":false)");
  const auto plain = Tokenizer::from_json(json, "test");
  CHECK(encode(*plain, "A [MASK]").input_ids == Ids{1, 0, 3, 2});
  CHECK(encode(*plain->with_lowercase(), "A [MASK]").input_ids == Ids{1, 10, 3, 2});
  CHECK(encode(*plain->with_lowercase(), "A NEW").input_ids == Ids{1, 10, 56, 2});
}

TEST_CASE("words tokenizer: split as the Whitespace pre-tokenizer, no specials") {
  const auto tokenizer = Tokenizer::from_words({"<unk>", "she", "is", "..."}, true, "<unk>", "test");
  const Encoding out = encode(*tokenizer, "She is... he");
  CHECK(out.input_ids == Ids{1, 2, 3, 0});
  CHECK(out.offsets == Spans{{0, 3}, {4, 6}, {6, 9}, {10, 12}});
  CHECK(out.special_tokens_mask == std::vector<std::uint8_t>{0, 0, 0, 0});
  CHECK(tokenizer->special_count(true) == 0);
  CHECK_THAT(error_of(ErrorKind::model,
                      [] {
                        Tokenizer::from_words({"a", "a"}, true, "a", "m.json");
                      }),
             Contains("\"a\" twice"));
  CHECK_THAT(error_of(ErrorKind::model, [] { Tokenizer::from_words({"a"}, true, "b", "m.json"); }), Contains("\"b\""));
}

TEST_CASE("tokenizer: decode refuses ids that do not exist and can leave specials out") {
  const auto tokenizer = letters();
  CHECK(tokenizer->decode(Ids{1, 10, 3}, false) == "[CLS] a [MASK]");
  CHECK(tokenizer->decode(Ids{10, 3}, true) == "a");
  for (const std::int32_t id : {-1, 4, 66, 1 << 30}) {
    CHECK_THAT(error_of(ErrorKind::input, [&] { tokenizer->decode(Ids{id}, false); }), Contains(std::to_string(id)));
  }
}

TEST_CASE("tokenizer: invalid utf-8 is refused, never read past its end") {
  for (const char* text : {"\xff", "a\xe4\xb8", "\xf0\x9f\x98", "\xc3"}) {
    CHECK_THAT(error_of(ErrorKind::input, [&] { encode(*letters(), text); }), Contains("utf-8"));
  }
}

TEST_CASE("tokenizer: a long text's words and ranges count on, in ASCII and beyond, also behind an added token") {
  for (const std::string front : {"", "é ", "[MASK] "}) {
    constexpr std::size_t kWords = 9000;
    std::string text = front;
    for (std::size_t i = 0; i < kWords; ++i) text += "a ";
    const Encoding out = encode(*letters(), text);
    const std::size_t before = front.empty() ? 1 : 2;
    REQUIRE(out.size() == before + kWords + 1);
    bool right = true;
    for (std::size_t i = 0; i < kWords; ++i) {
      const auto begin = static_cast<std::uint32_t>(front.size() + 2 * i);
      right = right && out.offsets[before + i] == Span{begin, begin + 1} &&
              out.word_ids[before + i] == static_cast<std::int32_t>(before - 1 + i);
    }
    CHECK(right);
  }
}

TEST_CASE("tokenizer: nothing of an earlier text is left in an encoding") {
  TokenizerScratch scratch;
  Encoding out;
  EncodeOptions windows;
  windows.max_length = 5;
  windows.stride = 1;
  letters()->encode("a b c d e f", "a b", {}, scratch, out);
  letters()->encode("a b c d e f", std::nullopt, windows, scratch, out);
  CHECK_FALSE(out.overflowing.empty());
  letters()->encode("b", std::nullopt, {}, scratch, out);
  CHECK(out.input_ids == Ids{1, 11, 2});
  CHECK(out.token_type_ids == Ids{0, 0, 0});
  CHECK(out.word_ids == Ids{-1, 0, -1});
  CHECK(out.special_tokens_mask == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(out.sequence_ids == std::vector<std::int8_t>{-1, 0, -1});
  CHECK(out.offsets == Spans{{0, 0}, {0, 1}, {0, 0}});
  CHECK(out.overflowing.empty());
  error_of(ErrorKind::input, [&] { letters()->encode("\xff", std::nullopt, {}, scratch, out); });
  CHECK(out.size() == 0);
  CHECK(out.offsets.empty());
}

TEST_CASE("tokenizer: one scratch serves several tokenizers, and its contents change nothing") {
  TokenizerScratch scratch;
  Encoding out;
  const auto words = Tokenizer::from_words({"u", "ab"}, false, "u", "test");
  for (int i = 0; i < 3; ++i) {
    letters()->encode("ab", std::nullopt, {}, scratch, out);
    CHECK(out.input_ids == Ids{1, 10, 41, 2});
    words->encode("ab", std::nullopt, {}, scratch, out);
    CHECK(out.input_ids == Ids{1});
  }
}

TEST_CASE("tokenizer: offsets are on character borders, inside the text, and in order, whatever the text") {
  const auto tokenizer = letters();
  std::mt19937 random(7);
  const std::vector<std::string> pieces = {"a",      "B",   " ",      "é",  "e\u0301", "中", "😀", "\u00AD", "\t",
                                           "[MASK]", "new", "\u0301", "각", "½",       "İ",  "ﷺ", "\x01",   "!"};
  TokenizerScratch scratch;
  Encoding out;
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto count = random() % 12; count > 0; --count) text += pieces[random() % pieces.size()];
    tokenizer->encode(text, std::nullopt, {}, scratch, out);
    Span last{0, 0};
    for (std::size_t i = 1; i + 1 < out.size(); ++i) {
      const Span here = out.offsets[i];
      REQUIRE(here.begin <= here.end);
      REQUIRE(here.end <= text.size());
      REQUIRE(here.begin >= last.begin);
      REQUIRE(mha::utf8::first_invalid(std::string_view(text).substr(here.begin, here.end - here.begin)) ==
              mha::utf8::kValid);
      last = here;
    }
  }
}
