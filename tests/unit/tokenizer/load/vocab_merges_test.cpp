#include <catch2/catch.hpp>

#include "mha/tokenizer/tokenizer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

namespace mha::tokenizer {
namespace {

constexpr const char* kVocab =
    R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"a":4,"b":5,"Ġ":6,"ab":7,"Ġab":8,"<mask>":9,"[CLS]":10,"[SEP]":11})";

std::shared_ptr<const Tokenizer> folder(const std::string& vocab, const std::string& merges,
                                        const std::string& config) {
  const test::TemporaryFolder files;
  files.write("vocab.json", vocab);
  files.write("merges.txt", merges);
  files.write("config.json", config);
  return Tokenizer::from_folder(files.path().string());
}

std::vector<std::int32_t> ids(const Tokenizer& tokenizer, std::string_view text) {
  TokenizerScratch scratch;
  Encoding encoding;
  tokenizer.encode(text, {}, {}, scratch, encoding);
  return encoding.input_ids;
}

using Ids = std::vector<std::int32_t>;

TEST_CASE("vocab.json and merges.txt make the tokenizer of their class") {
  const std::string merges = "#version: 0.2\na b\r\n\xC4\xA0 ab\n";
  CHECK(ids(*folder(kVocab, merges, R"({"model_type":"roberta"})"), "ab ab <mask>") == Ids{0, 7, 8, 9, 2});
  CHECK(ids(*folder(kVocab, merges, R"({"model_type":"gpt2"})"), "ab ab") == Ids{7, 8});
  CHECK(ids(*folder(kVocab, merges, R"({"tokenizer_class":"DebertaTokenizer"})"), "ab") == Ids{10, 7, 11});
  CHECK(ids(*folder(kVocab, "", R"({"model_type":"roberta"})"), "ab") == Ids{0, 4, 5, 2});
}

TEST_CASE("malformed merges name file and line") {
  const auto message = [](const std::string& merges) {
    return test::error_of(ErrorKind::model, [&] { folder(kVocab, merges, R"({"model_type":"roberta"})"); });
  };
  CHECK_THAT(message("a b\nab"), Catch::Contains("merges.txt") && Catch::Contains("line 2"));
  CHECK_THAT(message("a b\n\n"), Catch::Contains("line 2"));
  CHECK_THAT(message("a c\n"), Catch::Contains("\"c\""));
  CHECK_THAT(message("b a\n"), Catch::Contains("\"ba\""));
  CHECK_THAT(message("a \xFF\n"), Catch::Contains("UTF-8"));
  CHECK_THAT(test::error_of(ErrorKind::model, [] { folder(kVocab, "", R"({"model_type":"nope"})"); }),
             Catch::Contains("nope"));
}

}  // namespace
}  // namespace mha::tokenizer
