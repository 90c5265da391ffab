#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mha/encoder/config.hpp"
#include "model/families/bind_weights.hpp"
#include "model/weight_source.hpp"
#include "support/random.hpp"

namespace mha::test {

/// Arrays in memory, by name.
class MemoryWeights final : public WeightSource {
 public:
  void add(const std::string& name, std::vector<std::size_t> shape, std::vector<float> values) {
    Array& array = arrays_[name];
    array.values = std::make_shared<std::vector<float>>(std::move(values));
    array.view = {DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(array.values->data())};
  }
  void remove(const std::string& name) { arrays_.erase(name); }
  TensorView& view(const std::string& name) { return arrays_.at(name).view; }
  std::vector<float>& values(const std::string& name) { return *arrays_.at(name).values; }

  const TensorView* find(std::string_view name) const override {
    auto it = arrays_.find(name);
    return it == arrays_.end() ? nullptr : &it->second.view;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, array] : arrays_) names.push_back(name);
    return names;
  }
  std::shared_ptr<const void> owner() const override { return nullptr; }
  std::string place(std::string_view) const override { return "memory"; }

 private:
  struct Array {
    TensorView view;
    std::shared_ptr<std::vector<float>> values;
  };
  std::map<std::string, Array, std::less<>> arrays_;
};

/// Random arrays of every place that the configuration has, under their mha-json names.
inline MemoryWeights random_weights(const ModelConfig& c, unsigned seed) {
  MemoryWeights w;
  const auto put = [&](const std::string& name, std::vector<std::size_t> shape, float deviation, float mean = 0.0F) {
    std::size_t count = 1;
    for (std::size_t size : shape) count *= size;
    std::vector<float> values = normals(count, seed++, deviation);
    for (float& value : values) value += mean;
    w.add(name, std::move(shape), std::move(values));
  };
  const auto linear = [&](const std::string& name, std::size_t out, std::size_t in, bool bias) {
    put(name + ".weight", {out, in}, 1.2F / std::sqrt(static_cast<float>(in)));
    if (bias) put(name + ".bias", {out}, 0.3F);
  };
  const auto norm = [&](const std::string& name, std::size_t width) {
    put(name + ".weight", {width}, 0.2F, 1.0F);
    if (c.norm_bias && c.norm->kind == NormKind::layer_norm) put(name + ".bias", {width}, 0.3F);
  };
  put("embeddings.word.weight", {c.vocab_size, c.word_width()}, 1.0F);
  if (c.position.learned) put("embeddings.position.weight", {c.position_rows(), c.position_width()}, 0.5F);
  if (c.type_vocab_size > 0) put("embeddings.token_type.weight", {c.type_vocab_size, c.position_width()}, 0.5F);
  if (c.factorised()) linear("embeddings.projection", c.d_model, c.embedding_size, c.embedding_projection_bias);
  if (c.embedding_norm) norm("embeddings.norm", c.embedding_norm_width());
  const std::size_t d_query = c.d_query();
  const std::size_t d_key = c.d_key_value();
  const std::size_t buckets = std::max(c.position.relative_buckets, c.position.relative_table_rows);
  for (std::size_t i = 0; i < c.distinct_layers(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    linear(layer + "attention.query", d_query, c.d_model, c.attention_bias);
    linear(layer + "attention.key", d_key, c.d_model, c.attention_bias);
    linear(layer + "attention.value", d_key, c.d_model, c.attention_bias);
    linear(layer + "attention.output", c.d_model, d_query, c.attention_output_bias);
    if (c.norm && (i > 0 || c.first_attention_norm)) norm(layer + "attention.norm", c.d_model);
    if (c.position.disentangled && !c.position.disentangled->share_key) {
      linear(layer + "attention.position_key", d_query, c.d_model, true);
      linear(layer + "attention.position_query", d_query, c.d_model, true);
    }
    if (c.position.relative_bias_per_layer) put(layer + "attention.relative_bias.weight", {buckets, c.n_heads}, 1.0F);
    if (c.feed_forward == ModelConfig::FeedForward::none) continue;
    linear(layer + "feed_forward.in", c.d_ff, c.d_model, c.feed_forward_bias);
    if (c.gated()) linear(layer + "feed_forward.gate", c.d_ff, c.d_model, c.feed_forward_bias);
    linear(layer + "feed_forward.out", c.d_model, c.d_ff, c.feed_forward_output_bias);
    if (c.norm) norm(layer + "feed_forward.norm", c.d_model);
  }
  if (c.final_norm) norm("final_norm", c.d_model);
  if (c.position.relative_bias && !c.position.relative_bias_per_layer)
    put("relative_bias.weight", {buckets, c.n_heads}, 1.0F);
  if (c.position.disentangled) {
    put("relative_table.weight", {2 * c.position.disentangled->span(), c.d_model}, 1.0F);
    if (c.position.disentangled->norm_table) norm("relative_norm", c.d_model);
  }
  if (c.convolution) {
    put("convolution.weight", {c.d_model, c.d_model / c.convolution->groups, c.convolution->kernel}, 0.2F);
    put("convolution.bias", {c.d_model}, 0.2F);
    norm("convolution_norm", c.d_model);
  }
  return w;
}

/// The arrays of `source`, bound for `config` under mha-json names. `source` must outlive them.
inline Weights bound(const ModelConfig& config, const WeightSource& source) {
  FamilyModel family;
  family.config = config;
  family.names = kMhaJson.names;
  std::vector<std::string> unused;
  return bind_weights(family, source, unused);
}

/// A small post-norm encoder, to switch on from.
inline ModelConfig small_config() {
  ModelConfig c;
  c.family = "mha-json";
  c.d_model = 24;
  c.n_heads = c.n_kv_heads = 3;
  c.d_head = 8;
  c.n_layers = 2;
  c.d_ff = 20;
  c.vocab_size = 50;
  c.max_positions = 64;
  return c;
}

/// One switch or a few, by name: together they cover everything that a ModelConfig can say.
inline std::vector<std::pair<std::string, ModelConfig>> every_switch() {
  std::vector<std::pair<std::string, ModelConfig>> all;
  const auto add = [&all](const std::string& name, auto change) {
    ModelConfig c = small_config();
    change(c);
    all.emplace_back(name, c);
  };
  add("post-norm", [](ModelConfig&) {});
  add("sinusoidal", [](ModelConfig& c) {
    c.position.sinusoidal = PositionConfig::Sinusoidal::interleaved;
    c.embedding_scale = 3.0F;
  });
  add("sinusoidal halves, pre-norm, final norm", [](ModelConfig& c) {
    c.position.sinusoidal = PositionConfig::Sinusoidal::halves;
    c.norm->order = NormOrder::pre;
    c.final_norm = true;
  });
  add("learned positions, types, embedding norm", [](ModelConfig& c) {
    c.position.learned = true;
    c.position.learned_offset = 2;
    c.position.learned_padding_id = 1;
    c.position.learned_padding_row = 1;
    c.type_vocab_size = 2;
    c.embedding_norm = true;
  });
  add("gated, rms, no biases", [](ModelConfig& c) {
    c.feed_forward = ModelConfig::FeedForward::gated;
    c.activation = Activation::silu;
    c.norm->kind = NormKind::rms_norm;
    c.norm->order = NormOrder::pre;
    c.norm_bias = c.attention_bias = c.attention_output_bias = c.feed_forward_bias = c.feed_forward_output_bias = false;
  });
  add("relative bias, unscaled", [](ModelConfig& c) {
    c.position.relative_bias = true;
    c.scale_scores = false;
    c.d_head = 6;
  });
  add("relative bias a layer",
      [](ModelConfig& c) { c.position.relative_bias = c.position.relative_bias_per_layer = true; });
  add("rotary halves, local windows", [](ModelConfig& c) {
    c.position.rotary = PositionConfig::Rotary::halves;
    c.position.rotary_base_local = 50.0;
    c.local_window = 2;
    c.local_layers = {true, false};
    c.first_attention_norm = false;
    c.norm->order = NormOrder::pre;
  });
  add("rotary pairs, value too, part of the head", [](ModelConfig& c) {
    c.position.rotary = PositionConfig::Rotary::pairs;
    c.position.rotary_value = true;
    c.position.rotary_width = 4;
  });
  add("alibi", [](ModelConfig& c) { c.position.alibi = true; });
  add("disentangled, shared keys, buckets", [](ModelConfig& c) {
    c.position.disentangled = PositionConfig::Disentangled{true, true, 6, 40, true, true};
    c.score_parts = 3;
  });
  add("disentangled, own keys, convolution", [](ModelConfig& c) {
    c.position.disentangled = PositionConfig::Disentangled{true, true, 0, 9, false, false};
    c.convolution = ConvolutionConfig{3, 2, Activation::tanh};
  });
  add("grouped heads", [](ModelConfig& c) { c.n_kv_heads = 1; });
  add("shared layers", [](ModelConfig& c) {
    c.n_layers = 3;
    c.shared_layers = 1;
    c.layer_weights = {0, 0, 0};
  });
  add("factorised after the norm", [](ModelConfig& c) {
    c.embedding_size = 7;
    c.embedding_norm = true;
  });
  add("factorised after the sum", [](ModelConfig& c) {
    c.embedding_size = 7;
    c.embedding_norm = true;
    c.embedding_projection = ModelConfig::Projection::after_sum;
  });
  add("factorised after the look-up", [](ModelConfig& c) {
    c.embedding_size = 7;
    c.embedding_projection = ModelConfig::Projection::after_lookup;
    c.position.sinusoidal = PositionConfig::Sinusoidal::interleaved;
  });
  add("zeroed token", [](ModelConfig& c) {
    c.zeroed_token_id = 3;
    c.embedding_scale = 0.88F;
  });
  add("bare attention", [](ModelConfig& c) {
    c.norm.reset();
    c.residual = false;
    c.feed_forward = ModelConfig::FeedForward::none;
    c.d_ff = 0;
  });
  return all;
}

}  // namespace mha::test
