#include <bit>
#include <catch2/catch.hpp>
#include <random>

#include "mha/tokenizer/tokenizer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"
#include "tokenizer/load/sentencepiece_file.hpp"

namespace mha::tokenizer {
namespace {

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(static_cast<unsigned char>(value | 0x80));
  return bytes + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(unsigned field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string real(unsigned field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string result = varint(field << 3 | 5);
  for (int i = 0; i < 4; ++i) result += static_cast<char>(static_cast<unsigned char>(bits >> (8 * i)));
  return result;
}
std::string piece(std::string_view text, float score, unsigned type = 1) {
  return bytes(1, bytes(1, text) + real(2, score) + number(3, type));
}

const std::string kUnk = piece("<unk>", 0, 2);
const std::string kModel = kUnk + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("▁", -2) + piece("a", -1) +
                           piece("▁a", -1.5F) + piece("b", -3) + piece("ab", -1.25F) +
                           bytes(2, number(3, 1) + number(40, 0)) + bytes(3, number(3, 1));

TEST_CASE("a SentencePiece model is read field by field") {
  const auto model = read_sentencepiece(kModel + bytes(4, "ignored") + number(99, 7), "m");
  REQUIRE(model.pieces.size() == 8);
  CHECK(model.pieces[5].text == "▁a");
  CHECK(model.pieces[5].score == -1.5F);
  CHECK(model.pieces[1].type == SentencePieceModel::Type::control);
  CHECK(model.kind == SentencePieceModel::Kind::unigram);
  CHECK(model.remove_extra_whitespaces);
}

TEST_CASE("a damaged SentencePiece model is a model error") {
  const auto message = [](const std::string& file) {
    return test::error_of(ErrorKind::model, [&] { read_sentencepiece(file, "m.model"); });
  };
  CHECK_THAT(message(""), Catch::Contains("m.model") && Catch::Contains("no pieces"));
  CHECK_THAT(message("hello"), Catch::Contains("SentencePiece"));
  CHECK_THAT(message(varint(1 << 3 | 2) + varint(0xFFFFFFFFULL) + "x"), Catch::Contains("4294967295"));
  CHECK_THAT(message(varint(1 << 3 | 2) + std::string(11, '\xFF')), Catch::Contains("ten bytes"));
  CHECK_THAT(message(varint(0 << 3)), Catch::Contains("numbered 0"));
  CHECK_THAT(message(varint(1 << 3 | 3)), Catch::Contains("wire type 3"));
  CHECK_THAT(message(number(1, 5)), Catch::Contains("wire type 0"));
  CHECK_THAT(message(kUnk + piece("a", -1) + piece("a", -2)), Catch::Contains("twice"));
  CHECK_THAT(message(kUnk + piece("", -1)), Catch::Contains("empty"));
  CHECK_THAT(message(kUnk + piece("\xFF", -1)), Catch::Contains("UTF-8"));
  CHECK_THAT(message(kUnk + bytes(1, bytes(1, "a"))), Catch::Contains("without a score"));
  CHECK_THAT(message(kUnk + piece("a", std::numeric_limits<float>::quiet_NaN())), Catch::Contains("finite"));
  CHECK_THAT(message(kUnk + piece("a", -1, 9)), Catch::Contains("type 9"));
  CHECK_THAT(message(kUnk + bytes(2, number(40, 5))), Catch::Contains("5 of 1"));
  CHECK_THAT(message(kUnk + bytes(2, number(40, 0xFFFFFFFFULL))), Catch::Contains("-1"));
  CHECK_THAT(message(piece("a", -1)), Catch::Contains("unknown piece"));
}

TEST_CASE("a model cut or changed anywhere is read or refused, nothing else") {
  const auto try_read = [](const std::string& file) {
    try {
      read_sentencepiece(file, "m");
    } catch (const Error& error) {
      REQUIRE(error.kind() == ErrorKind::model);
    }
  };
  for (std::size_t size = 0; size < kModel.size(); ++size) try_read(kModel.substr(0, size));
  std::mt19937 random(8);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = kModel;
    for (std::size_t n = 1 + random() % 4; n > 0; --n) damaged[random() % damaged.size()] = static_cast<char>(random());
    try_read(damaged);
  }
}

std::vector<std::int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
  TokenizerScratch scratch;
  Encoding encoding;
  tokenizer.encode(text, {}, {}, scratch, encoding);
  return encoding.input_ids;
}

std::shared_ptr<const Tokenizer> folder(const std::string& model, const std::string& config) {
  const test::TemporaryFolder files;
  files.write("spiece.model", model);
  if (!config.empty()) files.write("tokenizer_config.json", config);
  return Tokenizer::from_folder(files.path().string());
}

using Ids = std::vector<std::int32_t>;

TEST_CASE("the tokenizer class decides over the ids of a SentencePiece model") {
  CHECK(ids(*folder(kModel, ""), " ab  <s>a") ==
        Ids{3, 7, 3, 0, 4});  // as SentencePiece itself: no control piece in text
  CHECK(ids(*folder(kModel, R"({"tokenizer_class":"XLMRobertaTokenizer"})"), "a ab<mask>") == Ids{0, 6, 4, 8, 9, 2});
  CHECK(ids(*folder(kModel, R"({"tokenizer_class":"CamembertTokenizerFast"})"), "ab") == Ids{5, 7, 11, 6});
  CHECK(ids(*folder(kModel, R"({"tokenizer_class":"T5Tokenizer","extra_ids":2})"), "a<extra_id_0>") == Ids{5, 9, 2});
  const auto t5 = folder(kModel, R"({"tokenizer_class":"T5Tokenizer","extra_ids":2})");
  CHECK(t5->decode(ids(*t5, "ab a"), true) == "ab a");
}

TEST_CASE("a class whose special tokens are not in the vocabulary appends them, as the reference does") {
  const auto deberta = folder(kModel, R"({"tokenizer_class":"DebertaV2Tokenizer"})");
  const Ids found = ids(*deberta, "a [MASK]");
  CHECK(found.size() == 4);
  CHECK(found.front() == *deberta->id_of("[CLS]"));
  CHECK(found.back() == *deberta->id_of("[SEP]"));
  CHECK(*deberta->id_of("[CLS]") >= 8);
}

TEST_CASE("a BPE model of SentencePiece merges by score, and user-defined pieces stay whole") {
  const std::string model = kUnk + piece("▁", -1) + piece("a", -2) + piece("b", -3) + piece("▁a", -0.5F) +
                            piece("ab", -0.25F) + piece("(ab)", 0, 4) + piece("(", -4) + piece(")", -5) +
                            bytes(2, number(3, 2) + number(40, 0));
  CHECK(ids(*folder(model, ""), "ab") == Ids{1, 5});
  CHECK(ids(*folder(model, ""), "a(ab)b") == Ids{4, 6, 3});
  CHECK(ids(*folder(model, ""), "xyb") == Ids{1, 0, 3});
}

TEST_CASE("models of words and characters are refused by name") {
  CHECK_THAT(test::error_of(ErrorKind::model, [] { folder(kUnk + bytes(2, number(3, 3) + number(40, 0)), ""); }),
             Catch::Contains("Unigram or BPE"));
}

}  // namespace
}  // namespace mha::tokenizer
