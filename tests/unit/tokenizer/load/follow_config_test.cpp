// What the small files beside a vocabulary change, and what is refused or noted.
#include <catch2/catch.hpp>

#include "mha/tokenizer/tokenizer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::EncodeOptions;
using mha::Encoding;
using mha::ErrorKind;
using mha::Tokenizer;
using mha::TokenizerScratch;
using mha::TruncationSide;
using mha::test::error_of;
using mha::test::TemporaryFolder;
using Ids = std::vector<std::int32_t>;

namespace {

// she 3, She 4, <ent> is not in the vocabulary; the file's own normalizer lowers the case.
constexpr const char* kWordPiece =
    R"({"added_tokens":[{"id":1,"content":"[CLS]","special":true},{"id":2,"content":"[SEP]","special":true}],)"
    R"("normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,)"
    R"("lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
    R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},)"
    R"("model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",)"
    R"("max_input_chars_per_word":100,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"she":3,"She":4,"[":5,"]":6}}})";

std::shared_ptr<const Tokenizer> with_config(const std::string& config, const char* json = kWordPiece) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", json);
  folder.write("tokenizer_config.json", config);
  return Tokenizer::from_folder(folder.path().string());
}

Encoding encode(const Tokenizer& tokenizer, std::string_view text, std::optional<std::string_view> pair = {}) {
  TokenizerScratch scratch;
  Encoding out;
  tokenizer.encode(text, pair, {}, scratch, out);
  return out;
}

Ids ids(const Tokenizer& tokenizer, std::string_view text) { return encode(tokenizer, text).input_ids; }

}  // namespace

TEST_CASE("a tokenizer.json that agrees with its configuration gives no note") {
  const auto tokenizer =
      with_config(R"({"tokenizer_class":"BertTokenizer","do_lower_case":true,"unk_token":"[UNK]","cls_token":"[CLS]",)"
                  R"("sep_token":"[SEP]","padding_side":"right","model_max_length":512,"added_tokens_decoder":{)"
                  R"("0":{"content":"[UNK]","special":true},"1":{"content":"[CLS]","special":true},)"
                  R"("2":{"content":"[SEP]","special":true}}})");
  CHECK(ids(*tokenizer, "She") == Ids{1, 3, 2});
  REQUIRE(tokenizer->notes().size() == 1);  // [UNK] is an added token in one file alone
  CHECK_THAT(tokenizer->notes()[0], Contains("adds \"[UNK]\""));
}

TEST_CASE("where tokenizer_config.json disagrees, the class that rebuilds the stages is followed, with a note") {
  const auto tokenizer = with_config(R"({"tokenizer_class":"BertTokenizerFast","do_lower_case":false})");
  CHECK(ids(*tokenizer, "She") == Ids{1, 4, 2});
  REQUIRE(tokenizer->notes().size() >= 1);
  CHECK_THAT(tokenizer->notes()[0], Contains("normalizer.lowercase is true"));
  // A generic class takes the file as it is.
  const auto generic = with_config(R"({"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":false})");
  CHECK(ids(*generic, "She") == Ids{1, 3, 2});
  CHECK(generic->notes().empty());
  // As does a class that cannot use the model of the file.
  const auto other = with_config(R"({"tokenizer_class":"T5Tokenizer"})");
  CHECK(ids(*other, "She") == Ids{1, 3, 2});
  CHECK_THAT(other->notes().at(0), Contains("T5Tokenizer cannot use") || Contains("which the class T5Tokenizer"));
}

TEST_CASE("special tokens of any role are found in texts, unless they are to be split") {
  for (const char* key : {R"("additional_special_tokens":["<ent>"])", R"("extra_special_tokens":["<ent>"])",
                          R"("extra_special_tokens":{"ent_token":"<ent>"})", R"("ent_token":"<ent>")"}) {
    INFO(key);
    const auto tokenizer = with_config(std::string(R"({"tokenizer_class":"BertTokenizer",)") + key + "}");
    CHECK(ids(*tokenizer, "she<ent>") == Ids{1, 3, 7, 2});
  }
  const auto split = with_config(R"({"tokenizer_class":"BertTokenizer","split_special_tokens":true})");
  CHECK(ids(*split, "[CLS]") == Ids{1, 5, 0, 6, 2});
}

TEST_CASE("the kept side and the type ids come from the configuration") {
  CHECK(with_config("{}")->kept_side() == TruncationSide::head);
  CHECK(with_config(R"({"truncation_side":"left"})")->kept_side() == TruncationSide::tail);
  std::string json = kWordPiece;
  json.insert(1, R"("truncation":{"direction":"Left","max_length":8,"strategy":"LongestFirst","stride":0},)");
  CHECK(with_config("{}", json.c_str())->kept_side() == TruncationSide::tail);
  CHECK(with_config(R"({"truncation_side":"right"})", json.c_str())->kept_side() == TruncationSide::head);
  CHECK_THAT(error_of(ErrorKind::model, [] { with_config(R"({"truncation_side":"middle"})"); }),
             Contains("truncation_side") && Contains("left or right"));
  CHECK(encode(*with_config("{}"), "she", "she").token_type_ids == std::vector<std::int32_t>{0, 0, 0, 1, 1});
  const auto without = with_config(R"({"model_input_names":["input_ids","attention_mask"]})");
  CHECK(encode(*without, "she", "she").token_type_ids == std::vector<std::int32_t>{0, 0, 0, 0, 0});
}

TEST_CASE("keys: harmless ones are silent, unknown ones are noted, those that change tokens are refused") {
  CHECK(
      with_config(R"({"clean_up_tokenization_spaces":true,"name_or_path":"x","chat_template":"y"})")->notes().empty());
  const auto tokenizer = with_config(R"({"some_new_key":1})");
  REQUIRE(tokenizer->notes().size() == 1);
  CHECK_THAT(tokenizer->notes()[0], Contains("some_new_key: unknown key, ignored"));
  CHECK_THAT(error_of(ErrorKind::model, [] { with_config(R"({"word_tokenizer_type":"mecab"})"); }),
             Contains("word_tokenizer_type"));
  std::string json = kWordPiece;
  json.insert(1, R"("new_stage":{},)");
  CHECK_THAT(with_config("{}", json.c_str())->notes().at(0), Contains("new_stage: unknown key"));
}

TEST_CASE("vocab.txt is WordPiece only for classes whose reference is") {
  const auto refusal = [](const std::string& config, const char* more = nullptr) {
    const TemporaryFolder folder;
    folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nshe\n");
    folder.write("tokenizer_config.json", config);
    if (more != nullptr) folder.write(more, "x");
    return error_of(ErrorKind::model, [&] { Tokenizer::from_folder(folder.path().string()); });
  };
  for (const std::string name : {"PhobertTokenizer", "BertweetTokenizer", "BertJapaneseTokenizer", "CanineTokenizer",
                                 "EsmTokenizer", "ProphetNetTokenizer", "TapasTokenizer", "MyOwnTokenizer"}) {
    CHECK_THAT(refusal(R"({"tokenizer_class":")" + name + "\"}"), Contains(name));
  }
  CHECK_THAT(refusal("{}", "bpe.codes"), Contains("bpe.codes"));
  for (const char* name : {"BertTokenizer", "ElectraTokenizerFast", "DistilBertTokenizer", "PreTrainedTokenizerFast"}) {
    const TemporaryFolder folder;
    folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\nshe\n");
    folder.write("tokenizer_config.json", std::string(R"({"tokenizer_class":")") + name + "\"}");
    CHECK(ids(*Tokenizer::from_folder(folder.path().string()), "she") == Ids{1, 5, 2});
  }
}
