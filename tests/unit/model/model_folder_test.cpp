#include <catch2/catch.hpp>
#include <string>

#include "mha/model/model.hpp"
#include "model/model_writer.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::LoadOptions;
using mha::ModelHeader;
using mha::test::error_of;
using mha::test::TemporaryFolder;

namespace {

const std::string kBert = R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1,
  "num_attention_heads": 2, "intermediate_size": 12, "hidden_act": "gelu", "max_position_embeddings": 40, "type_vocab_size": 2})";
const std::string kRoberta = R"({"model_type": "roberta", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1,
  "num_attention_heads": 2, "intermediate_size": 12, "hidden_act": "gelu", "max_position_embeddings": 42, "type_vocab_size": 1,
  "pad_token_id": 3})";

std::string words_tokenizer() { return mha::words_tokenizer_json({"<unk>", "she", "is"}, true, "<unk>"); }

struct Folder {
  TemporaryFolder disk;

  Folder& with(const std::string& name, const std::string& content) {
    disk.write(name, content);
    return *this;
  }
  mha::ModelLocation location() const { return mha::find_model(disk.path().string(), {}); }
  ModelHeader header(const LoadOptions& options = {}) const { return mha::read_model_header(location(), options); }
};

}  // namespace

TEST_CASE("the maximum length comes from the first of option, sentence config, tokenizer config and position table") {
  Folder folder;
  folder.with("config.json", kBert);
  CHECK(folder.header().max_length == 40U);
  folder.with("tokenizer_config.json", R"({"model_max_length": 30})");
  CHECK(folder.header().max_length == 30U);
  folder.with("sentence_bert_config.json", R"({"max_seq_length": 35})");
  CHECK(folder.header().max_length == 35U);
  LoadOptions options;
  options.max_length = 38;
  CHECK(folder.header(options).max_length == 38U);
  options.max_length = 12;
  CHECK(folder.header(options).max_length == 12U);
}

TEST_CASE("no length goes above what the position table serves, an option that does is capped with a note") {
  Folder folder;
  folder.with("config.json", kRoberta).with("sentence_bert_config.json", R"({"max_seq_length": 512})");
  CHECK(folder.header().max_length == 38U);  // 42 rows − padding index 3 − 1
  LoadOptions options;
  options.max_length = 1000;
  CHECK(folder.header(options).max_length == 38U);
  CHECK_THAT(mha::load_tokenizer(folder.with("tokenizer.json", words_tokenizer()).location(), options).notes.at(0),
             Contains("1000") && Contains("38"));
  options.max_length = 0;
  CHECK_THAT(error_of(ErrorKind::usage, [&] { folder.header(options); }), Contains("--max-length"));
}

TEST_CASE("a maximum length that is no number of tokens is refused, a sentinel is no limit") {
  Folder folder;
  folder.with("config.json", kBert);
  for (const char* sentinel : {"1000000000000000019884624838656", "1e30", "1000001", "null"}) {
    folder.with("tokenizer_config.json", R"({"model_max_length": )" + std::string(sentinel) + "}");
    CHECK(folder.header().max_length == 40U);
  }
  for (const char* wrong : {"-1", "0", "1.5", "\"30\"", "true", "[30]"}) {
    folder.with("tokenizer_config.json", R"({"model_max_length": )" + std::string(wrong) + "}");
    CHECK_THAT(error_of(ErrorKind::model, [&] { folder.header(); }), Contains("tokenizer_config.json"));
  }
}

TEST_CASE("a folder with a tokenizer alone can tokenize, its limit is the tokenizer's own, or none") {
  Folder folder;
  folder.with("tokenizer.json", words_tokenizer());
  CHECK_FALSE(mha::load_tokenizer(folder.location(), {}).max_length);
  folder.with("tokenizer_config.json", R"({"model_max_length": 7})");
  const mha::TokenizerOnly tokenizer = mha::load_tokenizer(folder.location(), {});
  CHECK(tokenizer.max_length == 7U);
  CHECK(tokenizer.tokenizer->vocab_size() == 3);
  CHECK_THAT(error_of(ErrorKind::model, [&] { folder.header(); }), Contains("config.json"));
}

TEST_CASE("a folder whose encoder is not known can still tokenize, with a note") {
  Folder folder;
  folder.with("tokenizer.json", words_tokenizer()).with("config.json", R"({"model_type": "gpt2"})");
  const mha::TokenizerOnly tokenizer = mha::load_tokenizer(folder.location(), {});
  CHECK_FALSE(tokenizer.max_length);
  REQUIRE_FALSE(tokenizer.notes.empty());
  CHECK_THAT(tokenizer.notes[0], Contains("gpt2") && Contains("only the tokenizer is used"));
}

TEST_CASE("do_lower_case true adds lower-casing, false switches nothing off") {
  const auto first_id = [](const Folder& folder, const std::string& text) {
    mha::TokenizerScratch scratch;
    mha::Encoding encoding;
    mha::load_tokenizer(folder.location(), {}).tokenizer->encode(text, std::nullopt, {}, scratch, encoding);
    return encoding.input_ids.at(0);
  };
  Folder cased;
  cased.with("tokenizer.json", mha::words_tokenizer_json({"<unk>", "she"}, false, "<unk>"));
  CHECK(first_id(cased, "She") == 0);
  cased.with("sentence_bert_config.json", R"({"max_seq_length": 20, "do_lower_case": true})");
  CHECK(first_id(cased, "She") == 1);
  Folder lowered;
  lowered.with("tokenizer.json", words_tokenizer()).with("sentence_bert_config.json", R"({"do_lower_case": false})");
  CHECK(first_id(lowered, "She") == 1);
}

TEST_CASE("a model without readable weights says what it has and what to do") {
  Folder folder;
  folder.with("config.json", kBert).with("tokenizer.json", words_tokenizer()).with("pytorch_model.bin", "PK");
  CHECK_THAT(error_of(ErrorKind::model, [&] { mha::Model::load(folder.location(), {}); }),
             Contains("pytorch_model.bin") && Contains("convert"));
}

TEST_CASE("the encoder may lie in a folder of its own") {
  Folder folder;
  folder
      .with("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": "0_Transformer"},
                                  {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])")
      .with("1_Pooling/config.json", R"({"word_embedding_dimension": 8, "pooling_mode_cls_token": true})")
      .with("0_Transformer/config.json", kBert)
      .with("0_Transformer/sentence_bert_config.json", R"({"max_seq_length": 21})");
  const ModelHeader header = folder.header();
  CHECK(header.config.d_model == 8);
  CHECK(header.max_length == 21U);
  CHECK(header.sentence.pooling == std::vector<mha::PoolingMode>{mha::PoolingMode::cls});
}

TEST_CASE("a JSON file that is no mha-json model is refused by what it lacks") {
  const TemporaryFolder folder;
  const auto file = folder.write("x.json", R"({"hello": 1})");
  CHECK_THAT(error_of(ErrorKind::model, [&] { mha::read_model_header(mha::find_model(file.string(), {}), {}); }),
             Contains("x.json"));
}
