#include "mha/encoder/encoder.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "ops/vector.hpp"
#include "support/random_encoder.hpp"
#include "support/throws.hpp"

using namespace mha;
using test::MemoryWeights;

namespace {

const std::vector<std::int32_t> kIds{4, 9, 1, 33, 3, 17, 1, 8, 2, 40, 3, 11, 12};
const std::vector<std::int32_t> kTypes{0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0};
const std::vector<std::size_t> kRows{0, 5, 6, 13};

struct Model {
  ModelConfig config;
  MemoryWeights weights;
  Encoder encoder;

  Model(const ModelConfig& c, unsigned seed, const Backend& backend = backend_named("auto"))
      : config(c),
        weights(test::random_weights(c, seed)),
        encoder(c, test::bound(c, weights), backend, Precision::f32) {}
};

std::vector<float> run(const Encoder& encoder, const Batch& batch, const Wanted& wanted = {},
                       Captured* captured = nullptr, Executor* executor = nullptr) {
  Workspace workspace(executor);
  const ConstMatrix x = encoder.forward(batch, workspace, wanted, captured);
  return {x.data, x.data + x.rows * x.cols};
}

Batch whole_batch() { return {kIds, kTypes, kRows}; }

class TwoThreads final : public Executor {
 public:
  std::size_t threads() const override { return 2; }
  void run(std::size_t count, const std::function<void(std::size_t)>& piece) override {
    std::thread other([&] {
      for (std::size_t i = 1; i < count; i += 2) piece(i);
    });
    for (std::size_t i = 0; i < count; i += 2) piece(i);
    other.join();
  }
};

}  // namespace

TEST_CASE("with every switch, the fast backend computes what the reference backend does", "[kernels]") {
  for (const auto& [name, config] : test::every_switch()) {
    INFO(name);
    const Model fast(config, 7);
    const Model oracle(config, 7, backend_named("reference"));
    const auto x = run(fast.encoder, whole_batch());
    const auto y = run(oracle.encoder, whole_batch());
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == Approx(y[i]).margin(2e-4));
  }
}

TEST_CASE("with every switch, an input gives the same bits alone and in a batch, on one thread and on two",
          "[kernels]") {
  TwoThreads two;
  for (const auto& [name, config] : test::every_switch()) {
    INFO(name);
    const Model m(config, 3);
    const auto together = run(m.encoder, whole_batch());
    CHECK(run(m.encoder, whole_batch(), {}, nullptr, &two) == together);
    for (std::size_t i = 0; i + 1 < kRows.size(); ++i) {
      const std::size_t length = kRows[i + 1] - kRows[i];
      const std::size_t rows[] = {0, length};
      const Batch alone{std::span(kIds).subspan(kRows[i], length), std::span(kTypes).subspan(kRows[i], length), rows};
      const auto begin = together.begin() + static_cast<std::ptrdiff_t>(kRows[i] * config.d_model);
      CHECK(run(m.encoder, alone) ==
            std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(length * config.d_model)));
    }
  }
}

TEST_CASE("with every switch, capture changes no bit, and attention rows sum to 1", "[kernels]") {
  for (const auto& [name, config] : test::every_switch()) {
    INFO(name);
    const Model m(config, 11);
    Wanted wanted;
    wanted.hidden_states = true;
    for (std::size_t i = 0; i < config.n_layers; ++i) wanted.attention_layers.push_back(i);
    Captured captured;
    const auto plain = run(m.encoder, whole_batch());
    REQUIRE(run(m.encoder, whole_batch(), wanted, &captured) == plain);
    CHECK(std::equal(plain.begin(), plain.end(), captured.hidden_states.back().data()));
    REQUIRE(captured.attention_begin.size() == kRows.size());
    for (const FloatBuffer& probs : captured.attention_probs) {
      const float* row = probs.data();
      for (std::size_t i = 0; i + 1 < kRows.size(); ++i) {
        const std::size_t length = kRows[i + 1] - kRows[i];
        for (std::size_t r = 0; r < config.n_heads * length; ++r, row += length)
          CHECK(std::accumulate(row, row + length, 0.0F) == Approx(1.0).margin(1e-5));
      }
      CHECK(row == probs.data() + captured.attention_begin.back());
    }
  }
}

TEST_CASE("with every switch, the stages of a layer multiply out and end where the fast path ends", "[kernels]") {
  const std::vector<std::size_t> rows{0, 7};
  const Batch one{std::span(kIds).subspan(6), std::span(kTypes).subspan(6), rows};
  for (const auto& [name, config] : test::every_switch()) {
    for (std::size_t layer = 0; layer < config.n_layers; ++layer) {
      INFO(name << " layer " << layer);
      const Model m(config, 5);
      Wanted wanted;
      wanted.hidden_states = true;
      wanted.stages_of_layer = layer;
      Captured captured;
      REQUIRE(run(m.encoder, one, wanted, &captured) == run(m.encoder, one));
      std::map<std::string, const Stage*> s;
      for (const Stage& stage : captured.stages) s[stage.name] = &stage;
      const std::size_t n = 7;
      const std::size_t group = config.n_heads / config.n_kv_heads;
      for (std::size_t h = 0; h < config.n_heads; ++h) {
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            const float product = dot(s["Q"]->values.data() + (h * n + i) * config.d_head,
                                      s["K"]->values.data() + (h / group * n + j) * config.d_head, config.d_head);
            REQUIRE(s["scores"]->values[(h * n + i) * n + j] == Approx(product).margin(1e-4));
          }
          for (std::size_t c = 0; c < config.d_head; ++c) {
            double z = 0.0;
            for (std::size_t j = 0; j < n; ++j) {
              z += static_cast<double>(s["probabilities"]->values[(h * n + i) * n + j]) *
                   static_cast<double>(s["V"]->values[(h / group * n + j) * config.d_head + c]);
            }
            REQUIRE(s["Z"]->values[(h * n + i) * config.d_head + c] == Approx(z).margin(1e-5));
          }
        }
      }
      const auto& bias = m.encoder.weights().layers[config.weights_of_layer(layer)].attention.output.bias;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < config.d_model; ++c) {
          double total = bias.present() ? static_cast<double>(reinterpret_cast<const float*>(bias.view.data)[c]) : 0.0;
          for (std::size_t h = 0; h < config.n_heads; ++h)
            total += static_cast<double>(s["output_share"]->values[(h * n + i) * config.d_model + c]);
          REQUIRE(s["attention_output"]->values[i * config.d_model + c] == Approx(total).margin(1e-4));
        }
      }
      const bool is_last_step = !config.convolution || layer > 0;
      const char* end = config.norm && config.norm->order == NormOrder::pre ? "residual2" : nullptr;
      if (end != nullptr && is_last_step) {
        for (std::size_t i = 0; i < s[end]->values.size(); ++i)
          CHECK(s["block_output"]->values[i] == Approx(s[end]->values[i]).margin(1e-4));
      }
      if (!(config.final_norm && layer + 1 == config.n_layers)) {
        CHECK(std::equal(s["block_output"]->values.begin(), s["block_output"]->values.end(),
                         captured.hidden_states[layer + 1].data()));
      }
    }
  }
}

TEST_CASE("an ablated head contributes nothing") {
  ModelConfig config = test::small_config();
  config.n_layers = 1;
  config.feed_forward = ModelConfig::FeedForward::none;
  config.d_ff = 0;
  const Model m(config, 2);
  Wanted wanted;
  wanted.ablated = {0, 1, 0};
  const auto ablated = run(m.encoder, whole_batch(), wanted);
  CHECK(ablated != run(m.encoder, whole_batch()));

  Model without(config, 2);
  for (std::size_t out = 0; out < config.d_model; ++out) {
    for (std::size_t c = 8; c < 16; ++c)
      without.weights.values("layers.0.attention.output.weight")[out * config.d_model + c] = 0.0F;
  }
  const Encoder encoder(config, test::bound(config, without.weights), backend_named("auto"), Precision::f32);
  const auto expected = run(encoder, whole_batch());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(ablated[i] == Approx(expected[i]).margin(1e-5));
}

TEST_CASE("with every head of a layer ablated the residual and Wo's bias are left, to the bit", "[kernels]") {
  const std::vector<std::size_t> rows{0, 7};
  const Batch one{std::span(kIds).subspan(6), std::span(kTypes).subspan(6), rows};
  for (const auto& [name, config] : test::every_switch()) {
    if (!config.residual || config.n_layers < 2) continue;
    INFO(name);
    const Model m(config, 9);
    Wanted wanted;
    wanted.stages_of_layer = 1;
    wanted.ablated.assign(config.n_layers * config.n_heads, 0);
    std::fill_n(wanted.ablated.begin() + static_cast<std::ptrdiff_t>(config.n_heads), config.n_heads, std::uint8_t{1});
    Captured captured;
    run(m.encoder, one, wanted, &captured);
    const auto stage = [&](const std::string& wanted_name) -> const std::vector<float>& {
      for (const Stage& s : captured.stages) {
        if (s.name == wanted_name) return s.values;
      }
      throw std::runtime_error("no stage " + wanted_name);
    };
    const auto& bias = m.encoder.weights().layers[config.weights_of_layer(1)].attention.output.bias;
    const auto* values = reinterpret_cast<const float*>(bias.view.data);
    for (std::size_t i = 0; i < stage("X").size(); ++i) {
      REQUIRE(stage("residual1")[i] == stage("X")[i] + (bias.present() ? values[i % config.d_model] : 0.0F));
    }
  }
}

TEST_CASE("bare attention without norm, residual and feed-forward is softmax(QK^T/sqrt d)V Wo in plain loops") {
  const auto all = test::every_switch();
  ModelConfig config = all.back().second;
  config.n_layers = 1;
  const Model m(config, 21);
  const std::size_t n = 5;
  const std::size_t d = config.d_model;
  const std::size_t rows[] = {0, n};
  const auto got = run(m.encoder, {std::span(kIds).first(n), {}, rows});
  const auto array = [&](const std::string& name) {
    return reinterpret_cast<const float*>(m.weights.find(name)->data);
  };
  const auto linear = [&](const std::vector<double>& x, const std::string& name) {
    std::vector<double> y(n * d);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t o = 0; o < d; ++o) {
        y[r * d + o] = static_cast<double>(array(name + ".bias")[o]);
        for (std::size_t i = 0; i < d; ++i)
          y[r * d + o] += x[r * d + i] * static_cast<double>(array(name + ".weight")[o * d + i]);
      }
    }
    return y;
  };
  std::vector<double> x;
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = 0; c < d; ++c)
      x.push_back(static_cast<double>(array("embeddings.word.weight")[static_cast<std::size_t>(kIds[r]) * d + c]));
  }
  const auto q = linear(x, "layers.0.attention.query");
  const auto k = linear(x, "layers.0.attention.key");
  const auto v = linear(x, "layers.0.attention.value");
  std::vector<double> z(n * d);
  for (std::size_t h = 0; h < 3; ++h) {
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> weight(n);
      double total = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t c = 8 * h; c < 8 * h + 8; ++c) weight[j] += q[i * d + c] * k[j * d + c] / std::sqrt(8.0);
        total += weight[j] = std::exp(weight[j]);
      }
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t c = 8 * h; c < 8 * h + 8; ++c) z[i * d + c] += weight[j] / total * v[j * d + c];
      }
    }
  }
  const auto expected = linear(z, "layers.0.attention.output");
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(static_cast<double>(got[i]) == Approx(expected[i]).margin(1e-4));
}

TEST_CASE("inputs that the model cannot take are errors that name the input") {
  ModelConfig config = test::small_config();
  config.max_positions = 4;
  config.type_vocab_size = 1;
  Model m(config, 1);
  const auto message = [&](std::vector<std::int32_t> ids, std::vector<std::int32_t> types,
                           std::vector<std::size_t> rows) {
    return test::error_of(ErrorKind::input, [&] { run(m.encoder, {ids, types, rows}); });
  };
  CHECK(message({1, 2, 50}, {}, {0, 2, 3}) ==
        "input 1 of the batch: token id 50: expected 0 to 49 (the embedding table); the tokenizer does "
        "not belong to this model");
  CHECK(message({-1}, {}, {0, 1}).find("token id -1") != std::string::npos);
  CHECK(message({1, 2, 3, 4, 5}, {}, {0, 5}) == "input 0 of the batch: expected at most 4 tokens, got 5; truncate it");
  CHECK(message({1, 2}, {}, {0, 1, 1, 2}) == "input 1 of the batch: expected at least one token, got none");
  CHECK(message({1, 2}, {0, 1}, {0, 2}).find("token type 1: expected 0 to 0") != std::string::npos);

  m.weights.values("embeddings.word.weight")[7 * config.d_model] = NAN;
  CHECK(message({1, 7}, {}, {0, 1, 2}).find("input 1 of the batch: expected finite numbers, got NaN") == 0);
  CHECK(run(m.encoder, {std::vector<std::int32_t>{}, {}, std::vector<std::size_t>{0}}).empty());
}

TEST_CASE("a workspace may go from one encoder to another") {
  const auto all = test::every_switch();
  Workspace workspace;
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, config] : all) {
      INFO(name);
      const Model m(config, 9);
      const ConstMatrix x = m.encoder.forward(whole_batch(), workspace, {}, nullptr);
      CHECK(std::vector<float>(x.data, x.data + x.rows * x.cols) == run(m.encoder, whole_batch()));
    }
  }
}

TEST_CASE("weights that do not fit the configuration are refused") {
  const ModelConfig config = test::small_config();
  const MemoryWeights weights = test::random_weights(config, 1);
  Weights bound = test::bound(config, weights);
  bound.layers[1].feed_forward.out.weight.view.shape = {24, 21};
  CHECK(
      test::error_of(ErrorKind::model, [&] { Encoder(config, bound, backend_named("auto"), Precision::f32); }) ==
      "weights: tensor layers.1.feed_forward.out.weight: expected shape [24,20] (from the configuration), got [24,21]");
}

TEST_CASE("a factorised transformer_encoder with I8 weights is the one whose weights are code times scale",
          "[kernels]") {
  const nlohmann::json json{{"model_type", "transformer_encoder"},
                            {"d_model", 24},
                            {"nhead", 3},
                            {"num_layers", 1},
                            {"dim_feedforward", 20},
                            {"vocab_size", 50},
                            {"max_positions", 64},
                            {"embedding_size", 7},
                            {"norm_first", true},
                            {"final_norm", true}};
  const FamilyModel family = read_family(json, "config.json");
  const std::pair<const char*, std::vector<std::size_t>> matrices[] = {
      {"embedding.weight", {50, 7}},
      {"embedding_projection.weight", {24, 7}},
      {"encoder.layers.0.self_attn.in_proj_weight", {72, 24}},
      {"encoder.layers.0.self_attn.out_proj.weight", {24, 24}},
      {"encoder.layers.0.linear1.weight", {20, 24}},
      {"encoder.layers.0.linear2.weight", {24, 20}}};
  const std::pair<const char*, std::size_t> vectors[] = {{"encoder.layers.0.self_attn.in_proj_bias", 72},
                                                         {"encoder.layers.0.self_attn.out_proj.bias", 24},
                                                         {"encoder.layers.0.linear1.bias", 20},
                                                         {"encoder.layers.0.linear2.bias", 24},
                                                         {"encoder.layers.0.norm1.weight", 24},
                                                         {"encoder.layers.0.norm1.bias", 24},
                                                         {"encoder.layers.0.norm2.weight", 24},
                                                         {"encoder.layers.0.norm2.bias", 24},
                                                         {"encoder.norm.weight", 24},
                                                         {"encoder.norm.bias", 24}};
  MemoryWeights floats, codes;
  std::vector<std::vector<std::int8_t>> kept;
  unsigned seed = 1;
  for (const auto& [name, size] : vectors) {
    floats.add(name, {size}, test::normals(size, ++seed, 0.4F));
    codes.add(name, {size}, test::normals(size, seed, 0.4F));
  }
  for (const auto& [name, shape] : matrices) {
    const auto scale = test::normals(shape[0], ++seed, 0.003F);
    std::vector<std::int8_t> code;
    std::vector<float> value;
    for (std::size_t i = 0; i < shape[0] * shape[1]; ++i) {
      code.push_back(static_cast<std::int8_t>(static_cast<int>((i * 37 + seed) % 255) - 127));
      value.push_back(static_cast<float>(code.back()) * scale[i / shape[1]]);
    }
    kept.push_back(std::move(code));
    floats.add(name, shape, value);
    codes.add(name, shape, {});
    codes.view(name) = {DType::i8, shape, reinterpret_cast<const std::byte*>(kept.back().data())};
    codes.add(name + std::string(".scale"), {shape[0]}, scale);
  }
  std::vector<std::string> unused;
  for (const char* backend : {"auto", "openblas", "reference"}) {
    INFO(backend);
    const Encoder with_floats(family.config, bind_weights(family, floats, unused), backend_named(backend),
                              Precision::f32);
    const Encoder with_codes(family.config, bind_weights(family, codes, unused), backend_named(backend),
                             Precision::f32);
    const auto x = run(with_floats, {kIds, {}, kRows});
    const auto y = run(with_codes, {kIds, {}, kRows});
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == Approx(y[i]).margin(1e-5));
  }
  CHECK(unused.empty());
  codes.remove("encoder.layers.0.linear1.weight.scale");
  CHECK(test::error_of(ErrorKind::model, [&] {
          bind_weights(family, codes, unused);
        }).find("linear1.weight.scale, got I8 alone") != std::string::npos);
}

TEST_CASE("every switch survives the way to mha-json and back") {
  for (const auto& [name, config] : test::every_switch()) {
    INFO(name);
    const nlohmann::json written = config_to_json(config);
    const FamilyModel read = read_family(written, "test", "mha-json");
    CHECK(config_to_json(read.config) == written);
    const MemoryWeights weights = test::random_weights(config, 4);
    const Encoder before(config, test::bound(config, weights), backend_named("auto"), Precision::f32);
    std::vector<std::string> unused;
    const Encoder after(read.config, bind_weights(read, weights, unused), backend_named("auto"), Precision::f32);
    CHECK(unused.empty());
    CHECK(run(before, whole_batch()) == run(after, whole_batch()));
  }
}
