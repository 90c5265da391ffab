#include "model/sentence_modules.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "io/file_set.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::PoolingMode;
using mha::SentenceModules;
using mha::test::error_of;

namespace {

using Files = std::map<std::string, std::string>;

SentenceModules read(const Files& files) {
  std::vector<mha::EmbeddedFile> entries;
  for (const auto& [name, text] : files) entries.push_back({name, std::as_bytes(std::span(text))});
  return mha::read_sentence_modules(*mha::memory_files(entries, "m"));
}

std::string failure(const Files& files) {
  return error_of(ErrorKind::model, [&] { read(files); });
}

std::string module(const std::string& type, const std::string& path) {
  return R"({"type": ")" + type + R"(", "path": ")" + path + "\"}";
}

const std::string kOld = "sentence_transformers.models.";
const std::string kTransformer = module(kOld + "Transformer", "");
const std::string kPooling = module(kOld + "Pooling", "1_Pooling");

Files with_modules(const std::string& rest, const std::string& pooling = R"({"pooling_mode_mean_tokens": true})") {
  return {{"modules.json", "[" + kTransformer + "," + kPooling + rest + "]"}, {"1_Pooling/config.json", pooling}};
}

std::vector<PoolingMode> modes(const std::string& pooling) { return read(with_modules("", pooling)).config.pooling; }

std::string from(const SentenceModules& modules, const std::string& what) {
  for (const mha::Decision& decision : modules.decisions) {
    if (decision.what == what) return decision.value + " <- " + decision.from;
  }
  return "";
}

}  // namespace

TEST_CASE("a folder without modules pools the mean, and says that it is assumed") {
  const SentenceModules modules = read({});
  CHECK(modules.config.pooling == std::vector<PoolingMode>{PoolingMode::mean});
  CHECK_FALSE(modules.config.normalize);
  CHECK_THAT(from(modules, "pooling"), Contains("mean <- assumed"));
  CHECK_THAT(from(modules, "normalize"), Contains("none <- assumed"));
}

TEST_CASE("pooling modes are read in both dialects, and joined in the reference's order") {
  using enum PoolingMode;
  using Modes = std::vector<PoolingMode>;
  CHECK(modes(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})") == Modes{cls});
  CHECK(
      modes(
          R"({"pooling_mode_lasttoken": true, "pooling_mode_weightedmean_tokens": true, "pooling_mode_mean_tokens": true,
                  "pooling_mode_mean_sqrt_len_tokens": true, "pooling_mode_max_tokens": true, "pooling_mode_cls_token": true})") ==
      Modes{cls, max, mean, mean_sqrt_len, weighted_mean, last});
  CHECK(modes(R"({"pooling_mode": "lasttoken"})") == Modes{last});
  CHECK(modes(R"({"pooling_mode": "weightedmean"})") == Modes{weighted_mean});
  CHECK(modes(R"({"pooling_mode": ["mean_sqrt_len_tokens", "max"]})") == Modes{mean_sqrt_len, max});
  CHECK(modes(R"({"word_embedding_dimension": 8})") == Modes{mean});
}

TEST_CASE("a pooling mode that is not implemented is refused, never replaced") {
  for (const char* pooling :
       {R"({"pooling_mode": "median"})", R"({"pooling_mode": ["mean", "median"]})", R"({"pooling_mode": 3})",
        R"({"pooling_mode": []})", R"({"pooling_mode_attention_tokens": true, "pooling_mode_mean_tokens": true})",
        R"({"pooling_mode_mean_tokens": "yes"})", "[]", ""}) {
    INFO(pooling);
    CHECK_THAT(failure(with_modules("", pooling)), Contains("1_Pooling/config.json"));
  }
  CHECK(modes(R"({"pooling_mode_attention_tokens": false, "pooling_mode_mean_tokens": true})").size() == 1);
}

TEST_CASE("modules are read in both dialects and in their order") {
  const std::string newer = "sentence_transformers.sentence_transformer.modules.pooling.Pooling";
  const std::string base = "sentence_transformers.base.modules.";
  Files files{{"modules.json", "[" + module(base + "transformer.Transformer", "0_Transformer") + "," +
                                   module(newer, "1_P") + "," + module(base + "normalize.Normalize", "2_N") + "," +
                                   module(base + "dense.Dense", "3_D") + "]"},
              {"1_P/config.json", R"({"pooling_mode": "cls", "embedding_dimension": 8, "include_prompt": false})"},
              {"2_N/config.json", R"({"module_input_name": "sentence_embedding"})"},
              {"3_D/config.json",
               R"({"in_features": 8, "out_features": 5, "activation_function": "torch.nn.modules.linear.Identity"})"}};
  const SentenceModules modules = read(files);
  CHECK(modules.transformer_folder == "0_Transformer");
  CHECK_FALSE(modules.config.include_prompt);
  REQUIRE(modules.config.dense.size() == 1);
  CHECK(modules.config.dense[0].normalize_input);
  CHECK(modules.config.dense[0].activation == mha::Activation::none);
  CHECK_FALSE(modules.config.normalize);
  CHECK_NOTHROW(mha::check_sentence_widths(modules, 8, "m"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { mha::check_sentence_widths(modules, 9, "m"); }),
             Contains("9") && Contains("got 8"));
  files["3_D/config.json"] = R"({"in_features": 9, "out_features": 5})";
  CHECK_THAT(error_of(ErrorKind::model, [&] { mha::check_sentence_widths(read(files), 8, "m"); }), Contains("m/3_D"));
}

TEST_CASE("a module that is not implemented is refused by name, never skipped") {
  CHECK_THAT(failure(with_modules("," + module(kOld + "LSTM", "2"))), Contains("LSTM") && Contains("not implemented"));
  CHECK_THAT(failure(with_modules("," + module("evil.pkg.Dense", "2_Dense"))), Contains("evil.pkg.Dense"));
  CHECK_THAT(failure(with_modules("," + module("sentence_transformers.cross_encoder.Dense", "2"))),
             Contains("not implemented"));
  CHECK_THAT(failure(with_modules(R"(,{"type": 7, "path": ""})")), Contains("type"));
  CHECK_THAT(failure(with_modules(R"(,{"path": ""})")), Contains("type"));
  CHECK(read(with_modules("," + module(kOld + "Dropout", "2"))).config.pooling.size() == 1);
}

TEST_CASE("modules in an order that makes no sense are refused") {
  const std::string normalize = module(kOld + "Normalize", "2");
  for (const std::string& list :
       {kPooling, normalize + "," + kTransformer, kTransformer + "," + normalize + "," + kPooling,
        kTransformer + "," + kPooling + "," + kPooling, kTransformer + "," + kTransformer}) {
    INFO(list);
    CHECK_FALSE(failure({{"modules.json", "[" + list + "]"}, {"1_Pooling/config.json", R"({"pooling_mode": "mean"})"}})
                    .empty());
  }
  CHECK_THAT(failure({{"modules.json", "{}"}}), Contains("array"));
  CHECK_THAT(failure({{"modules.json", "[]"}}), Contains("Transformer"));
}

TEST_CASE("a module's folder must lie inside the model") {
  for (const char* path : {"../up", "/etc", "a/../../b", ".."}) {
    CHECK_THAT(failure({{"modules.json", "[" + kTransformer + "," + module(kOld + "Pooling", path) + "]"}}),
               Contains("inside"));
  }
}

TEST_CASE("what would change the vectors and is not implemented is refused") {
  Files files = with_modules("," + module(kOld + "Dense", "2_Dense"));
  for (const char* dense : {R"({"in_features": 8, "out_features": 6, "activation_function": "os.system"})",
                            R"({"in_features": 8, "out_features": -6})", R"({"in_features": 8})",
                            R"({"in_features": 0, "out_features": 6})",
                            R"({"in_features": 8, "out_features": 6, "module_input_name": "other"})"}) {
    files["2_Dense/config.json"] = dense;
    INFO(dense);
    CHECK_THAT(failure(files), Contains("2_Dense/config.json"));
  }
  files["2_Dense/config.json"] = R"({"in_features": 8, "out_features": 6, "module_input_name": "token_embeddings"})";
  CHECK_THAT(failure(files), Contains("modules of token vectors before Pooling"));
  for (const char* config : {R"({"transformer_task": "text-generation"})", R"({"module_output_name": "logits"})",
                             R"({"modality_config": {"text": {"method_output_name": "pooler_output"}}})",
                             R"({"modality_config": {"image": {}}})", R"({"max_seq_length": -1})",
                             R"({"max_seq_length": 0})", R"({"max_seq_length": "20"})", R"({"do_lower_case": 1})"}) {
    INFO(config);
    CHECK_THAT(failure({{"sentence_bert_config.json", config}}), Contains("sentence_bert_config.json"));
  }
}

TEST_CASE("lengths and lower-casing come from the sentence config, whatever its older name") {
  const SentenceModules bert =
      read({{"sentence_bert_config.json", R"({"max_seq_length": 20, "do_lower_case": true})"}});
  CHECK(bert.max_length == 20U);
  CHECK(bert.max_length_from == "sentence_bert_config.json:max_seq_length");
  CHECK(bert.lowercase);
  CHECK(read({{"sentence_roberta_config.json", R"({"max_seq_length": 24, "do_lower_case": false})"}}).max_length ==
        24U);
  const SentenceModules unset =
      read({{"sentence_bert_config.json", R"({"max_seq_length": null, "do_lower_case": false})"}});
  CHECK_FALSE(unset.max_length);
  CHECK_FALSE(unset.lowercase);
  CHECK(read({{"sentence_bert_config.json", R"({"max_seq_length": 1e30})"}}).max_length.value() > 1000000U);
}

TEST_CASE("prompts, the default one and the similarity come from config_sentence_transformers.json") {
  const char* kFile = "config_sentence_transformers.json";
  const SentenceModules modules =
      read({{kFile, R"({"prompts": {"query": "q: ", "passage": "p: "}, "default_prompt_name": "query",
                                                   "similarity_fn_name": "dot"})"}});
  CHECK(modules.config.prompts.at("passage") == "p: ");
  CHECK(modules.config.default_prompt_name == "query");
  CHECK(modules.config.similarity == "dot");
  CHECK(read({{kFile, R"({"default_prompt_name": null, "similarity_fn_name": null})"}}).config.similarity == "cosine");
  for (const char* config : {R"({"default_prompt_name": "query"})", R"({"prompts": {"a": 3}})", R"({"prompts": []})",
                             R"({"similarity_fn_name": "magic"})"}) {
    INFO(config);
    CHECK_THAT(failure({{kFile, config}}), Contains(kFile));
  }
}

TEST_CASE("a prompt is chosen by text, by name, by role, else by default") {
  mha::SentenceConfig sentence;
  sentence.prompts = {{"query", "q: "}, {"passage", "p: "}, {"corpus", "c: "}, {"other", "o: "}};
  sentence.default_prompt_name = "other";
  CHECK(mha::choose_prompt(sentence, {"as it is", "query", {}}) == "as it is");
  CHECK(mha::choose_prompt(sentence, {"", {}, {}}).empty());
  CHECK(mha::choose_prompt(sentence, {{}, "query", {}}) == "q: ");
  CHECK(mha::choose_prompt(sentence, {{}, {}, "query"}) == "q: ");
  CHECK(mha::choose_prompt(sentence, {{}, {}, "document"}) == "p: ");
  CHECK(mha::choose_prompt(sentence, {}) == "o: ");
  sentence.prompts.erase("passage");
  sentence.prompts.erase("query");
  CHECK(mha::choose_prompt(sentence, {{}, {}, "document"}) == "c: ");
  CHECK(mha::choose_prompt(sentence, {{}, {}, "query"}) == "o: ");
  CHECK_THAT(error_of(ErrorKind::usage,
                      [&] {
                        mha::choose_prompt(sentence, {{}, "othr", {}});
                      }),
             Contains("did you mean 'other'?"));
  CHECK_FALSE(error_of(ErrorKind::usage, [&] { mha::choose_prompt(sentence, {{}, {}, "reader"}); }).empty());
  CHECK(mha::choose_prompt({}, {{}, {}, "query"}).empty());
}
