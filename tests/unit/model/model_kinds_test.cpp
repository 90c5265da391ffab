#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "io/file_set.hpp"
#include "model/sentence_modules.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::ModelKind;
using mha::SentenceModules;
using mha::test::error_of;

namespace {

using Files = std::map<std::string, std::string>;
using Unknown = std::vector<std::string>;

SentenceModules read(const Files& files) {
  std::vector<mha::EmbeddedFile> entries;
  for (const auto& [name, text] : files) entries.push_back({name, std::as_bytes(std::span(text))});
  return mha::read_sentence_modules(*mha::memory_files(entries, "m"));
}

std::string failure(const Files& files) {
  return error_of(ErrorKind::model, [&] { read(files); });
}

std::string module(const std::string& type, const std::string& path) {
  return R"({"idx": 0, "name": "0", "type": "sentence_transformers.)" + type + R"(", "path": ")" + path + "\"}";
}

const std::string kTransformer = module("base.modules.transformer.Transformer", "");
const std::string kPooling = module("sentence_transformer.modules.pooling.Pooling", "1_Pooling");
const std::string kMean = R"({"embedding_dimension": 4, "pooling_mode": "mean"})";

Files embedder() {
  return {{"modules.json", "[" + kTransformer + "," + kPooling + "]"}, {"1_Pooling/config.json", kMean}};
}

Files with(Files files, const std::string& name, const std::string& text) {
  files[name] = text;
  return files;
}

}  // namespace

TEST_CASE("a folder without sentence files is a plain encoder, one with pooling an embedder") {
  CHECK(read({}).config.kind == ModelKind::plain);
  CHECK(read(embedder()).config.kind == ModelKind::embedder);
}

TEST_CASE("a cross-encoder of sentence-transformers 5.4 and later needs no pooling, and says what a score is") {
  Files files{{"modules.json", "[" + kTransformer + "]"},
              {"sentence_bert_config.json",
               R"({"transformer_task": "sequence-classification", "module_output_name": "scores",
                   "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}}})"},
              {"config_sentence_transformers.json",
               R"({"model_type": "CrossEncoder", "prompts": {"query": "q: "}, "default_prompt_name": "query",
                   "__version__": {}, "activation_fn": "torch.nn.modules.linear.Identity"})"}};
  const SentenceModules modules = read(files);
  CHECK(modules.config.kind == ModelKind::cross_encoder);
  CHECK(modules.config.raw_scores == true);
  CHECK(modules.config.default_prompt_name == "query");
  CHECK(modules.unknown_keys == Unknown{});
  files["config_sentence_transformers.json"] = R"({"model_type": "CrossEncoder", "activation_fn": "torch.nn.Tanh"})";
  CHECK_THAT(failure(files), Contains("activation_fn: expected Sigmoid or Identity"));
}

TEST_CASE("a sparse encoder pools the logits of a fill-mask head") {
  const std::string pooling = module("sparse_encoder.models.SpladePooling", "1_SpladePooling");
  Files files{
      {"modules.json", "[" + module("sparse_encoder.models.MLMTransformer", "") + "," + pooling + "]"},
      {"1_SpladePooling/config.json",
       R"({"pooling_strategy": "sum", "activation_function": "log1p_relu", "word_embedding_dimension": null})"}};
  const SentenceModules modules = read(files);
  CHECK(modules.config.kind == ModelKind::sparse_encoder);
  REQUIRE(modules.config.sparse);
  CHECK(modules.config.sparse->sum);
  CHECK(modules.config.sparse->log_twice);
  CHECK_THAT(failure(with(files, "1_SpladePooling/config.json", R"({"pooling_strategy": "mean"})")),
             Contains("pooling_strategy: expected max or sum"));
  CHECK_THAT(failure({{"modules.json", "[" + module("sparse_encoder.models.MLMTransformer", "") + "]"}}),
             Contains("expected SpladePooling"));
}

TEST_CASE("a late-interaction model has dense layers on token vectors and leaves punctuation out") {
  const Files files{
      {"modules.json",
       "[" + kTransformer + "," + module("base.modules.dense.Dense", "1_Dense") + "," +
           module("multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask", "2_MultiVectorMask") + "," +
           module("base.modules.normalize.Normalize", "3_Normalize") + "]"},
      {"1_Dense/config.json",
       R"({"in_features": 4, "out_features": 3, "bias": false, "module_input_name": "token_embeddings",
                         "activation_function": "torch.nn.modules.linear.Identity"})"},
      {"2_MultiVectorMask/config.json", R"({"skiplist_words": [",", "."], "skiplist_tasks": ["document"]})"},
      {"3_Normalize/config.json", R"({"module_input_name": "token_embeddings"})"},
      {"config_sentence_transformers.json", R"({"model_type": "MultiVectorEncoder"})"}};
  const SentenceModules modules = read(files);
  CHECK(modules.config.kind == ModelKind::late_interaction);
  REQUIRE(modules.config.token_dense.size() == 1);
  CHECK(modules.config.token_width(4) == 3);
  CHECK(modules.config.normalize_tokens);
  CHECK(modules.config.skipped_tokens == Unknown{",", "."});
  CHECK(modules.config.dense.empty());
  CHECK_THAT(failure(with(files, "2_MultiVectorMask/config.json", R"({"keep_only_token_ids": [3]})")),
             Contains("keep_only_token_ids"));
}

TEST_CASE("a static embedding adds no special tokens") {
  const SentenceModules modules =
      read({{"modules.json", "[" + module("sentence_transformer.modules.static_embedding.StaticEmbedding", "") + "," +
                                 module("base.modules.normalize.Normalize", "1_Normalize") + "]"}});
  CHECK(modules.config.kind == ModelKind::static_embedding);
  CHECK_FALSE(modules.special_tokens);
  CHECK(modules.config.normalize);
}

TEST_CASE("a key that changes numbers is read or refused by its name, an unknown one is noted") {
  const Files files = embedder();
  const std::string sentence = "config_sentence_transformers.json";
  const std::string transformer = "sentence_bert_config.json";
  CHECK(read(with(files, sentence, R"({"truncate_dim": 3})")).config.truncate_dim == 3);
  CHECK(read(with(files, sentence, R"({"truncate_dim": 3})")).config.width(4) == 3);
  CHECK_THAT(failure(with(files, sentence, R"({"truncate_dim": 0})")), Contains("truncate_dim: expected at least 1"));
  CHECK(read(with(files, transformer, R"({"processing_kwargs": {"text": {"max_length": 7}}})")).max_length == 7);
  CHECK(read(with(files, transformer, R"({"tokenizer_args": {"model_max_length": 9}})")).max_length == 9);
  CHECK_THAT(failure(with(files, transformer, R"({"processing_kwargs": {"text": {"truncation": "only_first"}}})")),
             Contains("processing_kwargs.text: truncation"));
  CHECK_THAT(failure(with(files, transformer, R"({"processing_kwargs": {"text": {"add_special_tokens": false}}})")),
             Contains("add_special_tokens"));
  CHECK_THAT(failure(with(files, transformer, R"({"config_args": {"num_hidden_layers": 1}})")),
             Contains("config_args: num_hidden_layers"));
  CHECK_THAT(failure(with(files, transformer, R"({"tokenizer_name_or_path": "other"})")),
             Contains("tokenizer_name_or_path"));
  CHECK_THAT(failure(with(files, transformer, R"({"transformer_task": "text-generation"})")),
             Contains("transformer_task"));
  CHECK_THAT(failure(with(files, sentence, R"({"model_type": "Other"})")), Contains("model_type"));
  CHECK(read(with(files, sentence, R"({"new_key": 1, "__version__": {}})")).unknown_keys ==
        Unknown{"config_sentence_transformers.json: new_key"});
  CHECK(read(with(files, transformer, R"({"modality_config": {"text": {"method": "forward", "x": 1,
             "method_output_name": "last_hidden_state"}}})"))
            .unknown_keys == Unknown{"sentence_bert_config.json: modality_config.text.x"});
  CHECK(read(with(files, "1_Pooling/config.json", R"({"pooling_mode": "mean", "depth": 2})")).unknown_keys ==
        Unknown{"1_Pooling/config.json: depth"});
}

TEST_CASE("a dense module with a residual says so, and what it reads") {
  const Files files{
      {"modules.json", "[" + kTransformer + "," + kPooling + "," + module("base.modules.dense.Dense", "2_Dense") + "]"},
      {"1_Pooling/config.json", kMean},
      {"2_Dense/config.json", R"({"in_features": 4, "out_features": 3, "use_residual": true})"}};
  const SentenceModules modules = read(files);
  REQUIRE(modules.config.dense.size() == 1);
  CHECK(modules.config.dense[0].residual);
  CHECK(modules.config.dense[0].projects_residual());
  CHECK_THAT(failure(with(files, "2_Dense/config.json",
                          R"({"in_features": 4, "out_features": 3, "module_output_name": "scores"})")),
             Contains("module_output_name"));
}

TEST_CASE("older pooling flags that are all false mean the mean, as in the reference") {
  const SentenceModules modules =
      read(with(embedder(), "1_Pooling/config.json", R"({"pooling_mode_cls_token": false})"));
  CHECK(modules.config.pooling == std::vector<mha::PoolingMode>{mha::PoolingMode::mean});
}
