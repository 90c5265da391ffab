#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "model/families/bind_head.hpp"
#include "model/families/bind_weights.hpp"
#include "support/random_encoder.hpp"
#include "support/throws.hpp"

using namespace mha;
using nlohmann::json;
using test::error_of;

namespace {

json bert_config() {
  return {{"model_type", "bert"},          {"hidden_size", 8},        {"num_hidden_layers", 1},
          {"num_attention_heads", 2},      {"intermediate_size", 12}, {"hidden_act", "gelu"},
          {"max_position_embeddings", 32}, {"type_vocab_size", 2},    {"vocab_size", 59},
          {"layer_norm_eps", 1e-12}};
}

std::string refusal(json config, const char* key, const json& value) {
  config[key] = value;
  return error_of(ErrorKind::model, [&] { read_family(config, "config.json"); });
}

/// Every array of a BERT of that configuration, as its files name them.
test::MemoryWeights bert_weights(const ModelConfig& c) {
  test::MemoryWeights plain = test::random_weights(c, 3);
  test::MemoryWeights w;
  const std::pair<const char*, const char*> names[] = {
      {"embeddings.word", "embeddings.word_embeddings"},
      {"embeddings.position", "embeddings.position_embeddings"},
      {"embeddings.token_type", "embeddings.token_type_embeddings"},
      {"embeddings.norm", "embeddings.LayerNorm"},
      {"layers.0.attention.query", "encoder.layer.0.attention.self.query"},
      {"layers.0.attention.key", "encoder.layer.0.attention.self.key"},
      {"layers.0.attention.value", "encoder.layer.0.attention.self.value"},
      {"layers.0.attention.output", "encoder.layer.0.attention.output.dense"},
      {"layers.0.attention.norm", "encoder.layer.0.attention.output.LayerNorm"},
      {"layers.0.feed_forward.in", "encoder.layer.0.intermediate.dense"},
      {"layers.0.feed_forward.out", "encoder.layer.0.output.dense"},
      {"layers.0.feed_forward.norm", "encoder.layer.0.output.LayerNorm"}};
  for (const auto& [ours, theirs] : names) {
    for (const char* part : {".weight", ".bias"}) {
      if (const TensorView* view = plain.find(ours + std::string(part))) {
        w.add("bert." + std::string(theirs) + part, view->shape, plain.values(ours + std::string(part)));
      }
    }
  }
  return w;
}

}  // namespace

TEST_CASE("every family reads where its weights and sizes are, by data alone") {
  for (const std::string& name : family_names()) {
    INFO(name);
    const Family* family = family_named(name);
    REQUIRE(family != nullptr);
    CHECK(family->config != nullptr);
    CHECK(!family->names[Place::word].empty());
    CHECK(family->names.layer.find("{}") != std::string::npos);
    CHECK((!family->names[Place::query].empty() || !family->names.packed_qkv.empty()));
  }
  CHECK(family_named("gpt2") == nullptr);
}

TEST_CASE("a configuration that cannot be is an error with file, key, expected and got") {
  const json c = bert_config();
  CHECK(refusal(c, "num_attention_heads", 3) ==
        "config.json: num_attention_heads: expected a divisor of hidden_size 8, got 3");
  CHECK(refusal(c, "num_attention_heads", 0) ==
        "config.json: num_attention_heads: expected a whole number from 1 to 2147483647, got 0");
  CHECK(refusal(c, "hidden_size", "8").find("hidden_size: expected a whole number") != std::string::npos);
  CHECK(refusal(c, "hidden_size", 8.0).find("got 8.0") != std::string::npos);
  CHECK(refusal(c, "hidden_size", -8).find("got -8") != std::string::npos);
  CHECK(refusal(c, "hidden_size", true).find("got true") != std::string::npos);
  CHECK(refusal(c, "hidden_size", nullptr) ==
        "config.json: hidden_size: expected a value, got none; the configuration is incomplete");
  CHECK(refusal(c, "num_hidden_layers", 1000000) == "config: n_layers: expected 1 to 4096, got 1000000");
  CHECK(refusal(c, "intermediate_size", 0).find("intermediate_size") != std::string::npos);
  CHECK(refusal(c, "max_position_embeddings", 0).find("max_position_embeddings") != std::string::npos);
  CHECK(refusal(c, "layer_norm_eps", nullptr) == "config.json: layer_norm_eps: expected a number above 0, got null");
  CHECK(refusal(c, "layer_norm_eps", -1.0).find("got -1.0") != std::string::npos);
  CHECK(refusal(c, "hidden_act", "squiggle").find("got \"squiggle\"") != std::string::npos);
  CHECK(refusal(c, "hidden_act", json::object()).find("hidden_act: expected the name of an activation") !=
        std::string::npos);
  CHECK(refusal(c, "position_embedding_type", "relative_key") ==
        "config.json: position_embedding_type: expected \"absolute\" (other values are not implemented), got "
        "\"relative_key\"");
  CHECK(refusal(c, "is_decoder", true) ==
        "config.json: is_decoder: expected false (other values are not implemented), got true");
  CHECK(refusal(c, "model_type", "roberto").find("did you mean roberta?") != std::string::npos);
  CHECK(refusal(c, "model_type", 3).find("model_type: expected the name of a family") != std::string::npos);
}

TEST_CASE("values that change the computation and are not implemented are refused in every family that reads them") {
  const json gte{{"model_type", "gte"},      {"hidden_size", 8},        {"num_hidden_layers", 1},
                 {"num_attention_heads", 2}, {"intermediate_size", 12}, {"max_position_embeddings", 32},
                 {"vocab_size", 59}};
  CHECK_NOTHROW(read_family(gte, "config.json"));
  CHECK(refusal(gte, "rope_scaling", {{"type", "ntk"}}).find("rope_scaling: expected null") != std::string::npos);
  CHECK(refusal(gte, "rope_parameters", {{"rope_type", "yarn"}, {"rope_theta", 10.0}})
            .find("rope_parameters.rope_type") != std::string::npos);
  CHECK(refusal(gte, "logn_attention_scale", true).find("logn_attention_scale") != std::string::npos);
  const json nomic{{"model_type", "nomic_bert"}, {"n_embd", 8},     {"n_layer", 1}, {"n_head", 2},
                   {"n_positions", 32},          {"vocab_size", 59}};
  CHECK(read_family(nomic, "config.json").config.d_ff == 32);
  for (const char* key : {"prenorm", "causal", "parallel_block", "use_rms_norm"})
    CHECK(refusal(nomic, key, true).find(key) != std::string::npos);
  const json t5{{"model_type", "t5"}, {"d_model", 8}, {"num_layers", 1}, {"num_heads", 2},
                {"d_kv", 3},          {"d_ff", 12},   {"vocab_size", 59}};
  CHECK(refusal(t5, "feed_forward_proj", "gated-squiggle").find("feed_forward_proj") != std::string::npos);
  json modern = gte;
  modern["model_type"] = "modernbert";
  CHECK(refusal(modern, "layer_types", {"causal_attention"}).find("layer_types") != std::string::npos);
  CHECK(refusal(modern, "layer_types", json::array()).find("layer_types") != std::string::npos);
  CHECK(refusal(modern, "classifier_pooling", "last").find("classifier_pooling") != std::string::npos);
}

TEST_CASE("keys that no reference reads are ignored and listed, those of training are ignored silently") {
  json c = bert_config();
  c["flux"] = {{"a", 1}};
  c["hidden_dropout_prob"] = 0.1;
  c["architectures"] = {"BertForMaskedLM"};
  const FamilyModel model = read_family(c, "config.json");
  CHECK(model.ignored_keys == std::vector<std::string>{"flux"});
  CHECK(model.architectures == std::vector<std::string>{"BertForMaskedLM"});
  bool said = false;
  for (const Decision& decision : model.decisions)
    said = said ||
           (decision.what == "n_heads" && decision.value == "2" && decision.from == "config.json: num_attention_heads");
  CHECK(said);
}

TEST_CASE("an absent array is an error with its name, its shape and the nearest name in the file") {
  const FamilyModel model = read_family(bert_config(), "config.json");
  test::MemoryWeights w = bert_weights(model.config);
  std::vector<std::string> unused;
  CHECK_NOTHROW(bind_weights(model, w, unused));
  CHECK(unused.empty());
  w.add("bert.encoder.layer.0.attention.self.query_.weight", {8, 8}, std::vector<float>(64));
  w.remove("bert.encoder.layer.0.attention.self.query.weight");
  CHECK(error_of(ErrorKind::model, [&] { bind_weights(model, w, unused); }) ==
        "memory: tensor bert.encoder.layer.0.attention.self.query.weight: expected shape [8,8], got no such tensor; "
        "the nearest name in the "
        "file is bert.encoder.layer.0.attention.self.query_.weight");
}

TEST_CASE("a wrong shape or type is an error with name, expected and found, other arrays are listed as unused") {
  const FamilyModel model = read_family(bert_config(), "config.json");
  std::vector<std::string> unused;
  test::MemoryWeights w = bert_weights(model.config);
  w.view("bert.embeddings.LayerNorm.weight").shape = {2, 4};
  CHECK(error_of(ErrorKind::model, [&] { bind_weights(model, w, unused); }) ==
        "memory: tensor bert.embeddings.LayerNorm.weight: expected shape [8] (from the configuration), got [2,4]");
  w = bert_weights(model.config);
  w.view("bert.embeddings.LayerNorm.weight").dtype = DType::i64;
  CHECK(error_of(ErrorKind::model, [&] { bind_weights(model, w, unused); }) ==
        "memory: tensor bert.embeddings.LayerNorm.weight: expected weights of type F32, F16, BF16 or F64, got I64");
  w.view("bert.embeddings.LayerNorm.weight").dtype = DType::i8;  // only matrices may be I8
  CHECK(error_of(ErrorKind::model, [&] { bind_weights(model, w, unused); }) ==
        "memory: tensor bert.embeddings.LayerNorm.weight: expected weights of type F32, F16, BF16 or F64, got I8");
  w = bert_weights(model.config);
  w.view("bert.encoder.layer.0.attention.self.query.weight").dtype = DType::i8;
  CHECK(error_of(ErrorKind::model, [&] {
          bind_weights(model, w, unused);
        }).find("self.query.weight.scale, got I8 alone") != std::string::npos);
  w = bert_weights(model.config);
  w.add("bert.embeddings.position_ids", {1, 32}, std::vector<float>(32));
  w.add("adapter", {1}, {0.0F});
  unused.clear();
  bind_weights(model, w, unused);
  CHECK(unused == std::vector<std::string>{"adapter", "bert.embeddings.position_ids"});
}

TEST_CASE("norms called gamma and beta, and every prefix, are found") {
  const FamilyModel model = read_family(bert_config(), "config.json");
  for (const std::string prefix : {"", "bert.", "model."}) {
    test::MemoryWeights plain = bert_weights(model.config);
    test::MemoryWeights w;
    for (const std::string& name : plain.names()) {
      std::string other = prefix + name.substr(5);
      if (const auto at = other.find("LayerNorm.weight"); at != std::string::npos) other.replace(at + 10, 6, "gamma");
      if (const auto at = other.find("LayerNorm.bias"); at != std::string::npos) other.replace(at + 10, 4, "beta");
      w.add(other, plain.find(name)->shape, plain.values(name));
    }
    std::vector<std::string> unused;
    const Weights weights = bind_weights(model, w, unused);
    CHECK(unused.empty());
    CHECK(weights.embeddings.norm.gamma.name == prefix + "embeddings.LayerNorm.gamma");
  }
}

TEST_CASE("a head is found by architecture or by its arrays, and an output layer of its own wins over the word table") {
  json c = bert_config();
  FamilyModel model = read_family(c, "config.json");
  test::MemoryWeights w = bert_weights(model.config);
  CHECK(tasks_of(model, w).empty());
  const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
    std::size_t count = 1;
    for (std::size_t size : shape) count *= size;
    w.add(name, shape, std::vector<float>(count, 0.5F));
  };
  for (const char* part : {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"}) {
    add(std::string(part) + ".weight",
        std::string(part).ends_with("dense") ? std::vector<std::size_t>{8, 8} : std::vector<std::size_t>{8});
    add(std::string(part) + ".bias", {8});
  }
  add("cls.predictions.bias", {59});
  CHECK(tasks_of(model, w) == std::vector<Task>{Task::fill_mask});
  std::vector<std::string> unused;
  const Weights weights = bind_weights(model, w, unused);
  CHECK(unused.size() == 5);
  HeadWeights head = bind_head(model, Task::fill_mask, weights, w, unused);
  CHECK(unused.empty());
  CHECK(head.out.weight.name == "bert.embeddings.word_embeddings.weight");
  add("cls.predictions.decoder.weight", {59, 8});
  head = bind_head(model, Task::fill_mask, weights, w, unused);
  CHECK(head.out.weight.name == "cls.predictions.decoder.weight");
  CHECK(error_of(ErrorKind::model, [&] {
          bind_head(model, Task::answer, weights, w, unused);
        }).find("qa_outputs.weight") != std::string::npos);
  add("classifier.weight", {3, 8});
  add("classifier.bias", {3});
  model.architectures = {"BertForTokenClassification"};
  CHECK(tasks_of(model, w) == std::vector<Task>{Task::tag});
  CHECK(bind_head(model, Task::tag, weights, w, unused).out.weight.rows() == 3);
}

TEST_CASE("sizes that do not fit together are refused, whoever made the configuration") {
  const auto refused = [](auto change) {
    ModelConfig c = test::small_config();
    change(c);
    return error_of(ErrorKind::model, [&] { c.validate(); });
  };
  CHECK(refused([](ModelConfig& c) { c.d_model = 0; }) == "config: d_model: expected 1 to 1048576, got 0");
  CHECK(refused([](ModelConfig& c) { c.n_layers = 0; }).find("n_layers") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.n_heads = 65536;
          c.d_head = 1048576;
        }).find("n_heads · d_head") != std::string::npos);
  CHECK(refused([](ModelConfig& c) { c.n_kv_heads = 2; }).find("n_kv_heads: expected a divisor of n_heads 3") !=
        std::string::npos);
  CHECK(refused([](ModelConfig& c) { c.vocab_size = std::size_t{1} << 40; }).find("vocab_size") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.position.learned = true;
          c.max_positions = 0;
        }).find("max_positions") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.position.rotary = PositionConfig::Rotary::pairs;
          c.d_head = 7;
        }).find("rotary_width") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.position.relative_bias = true;
          c.position.relative_max_distance = 8;
        }).find("relative_max_distance") != std::string::npos);
  CHECK(refused([](ModelConfig& c) { c.shared_layers = 1; }).find("layer_weights") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.shared_layers = 1;
          c.layer_weights = {0, 1};
        }).find("layer_weights") != std::string::npos);
  CHECK(refused([](ModelConfig& c) { c.local_layers = {true, false}; }).find("local_window") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.convolution = ConvolutionConfig{2, 1, Activation::tanh};
        }).find("convolution.kernel") != std::string::npos);
  CHECK(refused([](ModelConfig& c) {
          c.norm.reset();
          c.final_norm = true;
        }).find("final_norm") != std::string::npos);
  CHECK(refused([](ModelConfig& c) { c.feed_forward = ModelConfig::FeedForward::none; }).find("d_ff") !=
        std::string::npos);
}

TEST_CASE("mha-json says what is unknown or does not fit, with the path") {
  const json c{{"d_model", 8},        {"n_heads", 2},
               {"n_layers", 1},       {"vocab_size", 40},
               {"max_positions", 64}, {"d_ff", 0},
               {"norm", nullptr},     {"feed_forward", nullptr},
               {"residual", false},   {"position", {{"kind", "sinusoidal"}, {"layout", "interleaved"}}}};
  const ModelConfig bare = read_family(c, "two.json", "mha-json").config;
  CHECK(!bare.norm);
  CHECK(!bare.residual);
  CHECK(bare.feed_forward == ModelConfig::FeedForward::none);
  CHECK(bare.position.sinusoidal == PositionConfig::Sinusoidal::interleaved);
  const auto refused = [&c](const char* key, const json& value) {
    json other = c;
    other[key] = value;
    return error_of(ErrorKind::model, [&] { read_family(other, "two.json", "mha-json"); });
  };
  CHECK(refused("colour", 1).find("two.json: colour: expected a known key") == 0);
  CHECK(refused("position", {{"kind", "round"}}).find("two.json: config.position.kind: expected") == 0);
  CHECK(refused("position", {{"kind", "sinusoidal"}, {"layout", "x"}}).find("config.position.layout") !=
        std::string::npos);
  CHECK(refused("norm", {{"kind", "x"}}).find("config.norm.kind") != std::string::npos);
  CHECK(refused("feed_forward", {{"kind", "two_layer"}}).find("d_ff") != std::string::npos);
  CHECK(refused("layer_weights", {0, 0}).find("layer_weights") != std::string::npos);
}

TEST_CASE("a width of heads that only the angles would follow is refused") {
  for (const char* type : {"modernbert", "esm"}) {
    json config = bert_config();
    config["model_type"] = type;
    config["position_embedding_type"] = "rotary";
    config["head_dim"] = 4;
    CHECK_NOTHROW(read_family(config, "config.json"));
    CHECK_THAT(refusal(config, "head_dim", 2), Catch::Contains("head_dim: expected 4"));
  }
}

TEST_CASE("positions behind a padding index are told apart from the rows of their table") {
  json config = bert_config();
  config["model_type"] = "roberta";
  const FamilyModel model = read_family(config, "config.json");
  CHECK(model.config.max_positions == 30);
  std::string said;
  for (const Decision& decision : model.decisions) {
    if (decision.what.starts_with("p") || decision.what == "max_positions") {
      said += decision.what + " " + decision.value + " (" + decision.from + ")\n";
    }
  }
  CHECK(said ==
        "pad_token_id 1 (assumed: no pad_token_id in config.json)\n"
        "position_rows 32 (config.json: max_position_embeddings)\n"
        "position_offset 2 (config.json: pad_token_id + 1)\n"
        "max_positions 30 (config.json: max_position_embeddings less position_offset)\n");
}

TEST_CASE("a token that is not zeroed is no decision of an mha-json file") {
  json config{{"d_model", 4}, {"n_heads", 1}, {"n_layers", 1}, {"vocab_size", 9}, {"max_positions", 8}};
  config["position"] = {{"kind", "none"}};
  const auto says = [&] {
    const FamilyModel model = read_family(config, "model.json", "mha-json");
    return std::any_of(model.decisions.begin(), model.decisions.end(),
                       [](const Decision& decision) { return decision.what == "zeroed_token_id"; });
  };
  CHECK_FALSE(says());
  config["zeroed_token_id"] = 3;
  CHECK(says());
  config["zeroed_token_id"] = -2;
  CHECK_THAT(error_of(ErrorKind::model, says), Catch::Contains("zeroed_token_id"));
}

TEST_CASE("keys that the reference lets win are read, nonsense is refused by name") {
  const json t5{{"model_type", "t5"}, {"d_model", 8}, {"num_layers", 1},  {"num_heads", 2},
                {"d_kv", 4},          {"d_ff", 12},   {"vocab_size", 59}, {"feed_forward_proj", "relu"}};
  json changed = t5;
  changed["dense_act_fn"] = "silu";
  changed["is_gated_act"] = true;
  ModelConfig config = read_family(changed, "config.json").config;
  CHECK(config.activation == Activation::silu);
  CHECK(config.gated());
  changed = t5;
  changed["num_hidden_layers"] = 2;  // another name of num_layers, which the reference sets last
  CHECK(read_family(changed, "config.json").config.n_layers == 2);

  json modern{{"model_type", "modernbert"},    {"hidden_size", 8},        {"num_hidden_layers", 2},
              {"num_attention_heads", 2},      {"intermediate_size", 12}, {"vocab_size", 59},
              {"max_position_embeddings", 32}, {"local_attention", 16}};
  CHECK(read_family(modern, "config.json").config.local_window == 8);
  modern["sliding_window"] = 3;
  CHECK(read_family(modern, "config.json").config.local_window == 3);
  CHECK(refusal(modern, "rope_parameters", {{"rope_type", "default"}, {"rope_theta", 100.0}}).find("rope_parameters") !=
        std::string::npos);

  CHECK(refusal(bert_config(), "layer_norm_eps", 65536).find("layer_norm_eps: expected at most 1") !=
        std::string::npos);
  CHECK(refusal(bert_config(), "quantization_config", {{"bits", 4}}).find("quantization_config") != std::string::npos);
  CHECK(refusal(bert_config(), "per_layer_config", {{"0", 1}}).find("per_layer_config") != std::string::npos);
}

TEST_CASE("layers of the file above those of the configuration are said") {
  const FamilyModel model = read_family(bert_config(), "config.json");
  test::MemoryWeights w = bert_weights(model.config);
  CHECK(unused_layers(model, w).empty());
  w.add("bert.encoder.layer.1.attention.self.query.weight", {8, 8}, std::vector<float>(64));
  CHECK(unused_layers(model, w).find("expected 1 layers") != std::string::npos);
}
