#include "mha/encoder/encoder.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "encoder/convolution.hpp"
#include "encoder/embeddings.hpp"
#include "encoder/encoder_layer.hpp"
#include "encoder/places.hpp"
#include "encoder/workspace.hpp"
#include "mha/core/error.hpp"
#include "ops/convert.hpp"
#include "ops/vector.hpp"

namespace mha {
namespace {

std::atomic<std::uint64_t> next_encoder{1};

std::vector<float> floats(const Weight& weight) {
  std::vector<float> values(weight.present() ? weight.view.size() : 0);
  if (weight.present()) to_float32(weight.view, 0, values.size(), values.data());
  return values;
}

/// DeBERTa's relative table, normalised if the model does (DebertaV2Encoder.get_rel_embedding).
PositionTerms position_terms(const ModelConfig& config, const Weights& weights) {
  PositionTerms terms;
  if (!config.position.disentangled) return terms;
  terms.relative_table = floats(weights.relative_table);
  if (config.position.disentangled->norm_table) {
    const Matrix table{terms.relative_table.data(), weights.relative_table.rows(), config.d_model};
    Norm(*config.norm, weights.relative_norm).apply(table, table, nullptr);
  }
  return terms;
}

[[noreturn]] void bad_input(std::size_t input, const std::string& what) {
  throw_input("input " + std::to_string(input) + " of the batch: " + what);
}

/// The destinations of captured values.
class CaptureTargets {
 public:
  CaptureTargets(const ModelConfig& config, const Batch& batch, const Wanted& wanted, Captured* captured)
      : config_(config), batch_(batch), wanted_(wanted), captured_(captured) {
    if (captured == nullptr) return;
    if (wanted.hidden_states) captured->hidden_states.resize(config.n_layers + 1);
    captured->stages.clear();
    if (wanted.stages_of_layer) stages_.emplace(captured->stages);
    if (wanted.attention_layers.empty()) return;
    heads_ = wanted.attention_heads;
    if (heads_.empty()) {
      heads_.resize(config.n_heads);
      std::iota(heads_.begin(), heads_.end(), std::size_t{0});
    }
    captured->attention_probs.resize(wanted.attention_layers.size());
    captured->attention_begin.assign(1, 0);
    for (std::size_t i = 0; i < batch.inputs(); ++i) {
      captured->attention_begin.push_back(captured->attention_begin.back() +
                                          heads_.size() * batch.length(i) * batch.length(i));
    }
  }

  StageRecorder* stages() { return stages_ ? &*stages_ : nullptr; }

  LayerCall call(std::size_t layer, Scratch& scratch) const {
    LayerCall call;
    call.layer = layer;
    call.row_begin = batch_.row_begin;
    call.scratch = &scratch;
    if (!wanted_.ablated.empty()) {
      call.ablated = std::span(wanted_.ablated).subspan(layer * config_.n_heads, config_.n_heads);
    }
    const auto place = std::find(wanted_.attention_layers.begin(), wanted_.attention_layers.end(), layer);
    if (captured_ == nullptr || place == wanted_.attention_layers.end()) return call;
    FloatBuffer& probs = captured_->attention_probs[static_cast<std::size_t>(place - wanted_.attention_layers.begin())];
    probs.reserve(captured_->attention_begin.back());
    call.capture_heads = heads_;
    call.capture_begin = captured_->attention_begin;
    call.attention_probs = probs.data();
    return call;
  }

  void hidden_state(std::size_t index, ConstMatrix x) const {
    if (captured_ == nullptr || !wanted_.hidden_states) return;
    FloatBuffer& buffer = captured_->hidden_states[index];
    buffer.reserve(x.rows * x.cols);
    std::copy_n(x.data, x.rows * x.cols, buffer.data());
  }

 private:
  const ModelConfig& config_;
  const Batch& batch_;
  const Wanted& wanted_;
  Captured* captured_;
  std::vector<std::size_t> heads_;
  std::optional<StageRecorder> stages_;
};

}  // namespace

Workspace::Workspace(Executor* executor) : impl(std::make_unique<Impl>()) { impl->executor = executor; }
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

struct Encoder::Impl {
  ModelConfig config;
  Weights weights;
  const Backend& backend;
  Precision precision;
  std::uint64_t id = next_encoder++;

  PositionTerms positions;
  Embeddings embeddings;
  std::vector<EncoderLayer> layers;  // distinct ones
  std::unique_ptr<Convolution> convolution;
  Norm final_norm;
  std::unique_ptr<PackedLinear> pooler;
  std::vector<std::vector<float>> relative_bias;  // one table, or one per layer: [buckets][n_heads]
  std::vector<float> slopes;                      // ALiBi

  Impl(const ModelConfig& c, Weights w, const Backend& b, Precision p);
  void check(const Batch& batch, const Wanted& wanted) const;
  void reserve_tables(const Batch& batch, Scratch& s) const;
  void check_finite(const Batch& batch, ConstMatrix x) const;
};

Encoder::Impl::Impl(const ModelConfig& c, Weights w, const Backend& b, Precision p)
    : config(c),
      weights(std::move(w)),
      backend(b),
      precision(p),
      positions(position_terms(config, weights)),
      embeddings(config, weights.embeddings, b, p) {
  for (const LayerWeights& layer : weights.layers) layers.emplace_back(config, layer, positions, b, p);
  if (config.convolution) convolution = std::make_unique<Convolution>(config, weights, b, p);
  if (config.final_norm) final_norm = Norm(*config.norm, weights.final_norm);
  if (weights.pooler.weight.present()) {
    const LinearWeights* const joined[] = {&weights.pooler};
    pooler = b.pack(joined, p);
  }
  if (config.position.relative_bias_per_layer) {
    for (std::size_t i = 0; i < config.n_layers; ++i) {
      relative_bias.push_back(floats(weights.layers[config.weights_of_layer(i)].attention.relative_bias));
    }
  } else if (config.position.relative_bias) {
    relative_bias.push_back(floats(weights.relative_bias));
  }
  if (config.position.alibi) slopes = alibi_slopes(config.n_heads);
}

Encoder::Encoder(const ModelConfig& config, Weights weights, const Backend& backend, Precision precision) {
  config.validate();
  check_shapes(config, weights);
  impl_ = std::make_unique<Impl>(config, std::move(weights), backend, precision);
}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;

const ModelConfig& Encoder::config() const { return impl_->config; }
const Weights& Encoder::weights() const { return impl_->weights; }
const Backend& Encoder::backend() const { return impl_->backend; }
Precision Encoder::precision() const { return impl_->precision; }

void Encoder::Impl::check(const Batch& batch, const Wanted& wanted) const {
  const auto rows = batch.row_begin;
  const bool whole =
      !rows.empty() && rows.front() == 0 && rows.back() == batch.rows() && std::is_sorted(rows.begin(), rows.end());
  if (!whole && !(rows.empty() && batch.rows() == 0)) throw_internal("batch: row_begin does not cover its rows");
  if (!batch.token_type_ids.empty() && batch.token_type_ids.size() != batch.rows()) {
    throw_internal("batch: expected a token type for each row");
  }
  for (std::size_t input = 0; input < batch.inputs(); ++input) {
    const std::size_t length = batch.length(input);
    if (length == 0) bad_input(input, "expected at least one token, got none");
    if (config.max_positions != 0 && length > config.max_positions) {
      bad_input(input, "expected at most " + std::to_string(config.max_positions) + " tokens, got " +
                           std::to_string(length) + "; truncate it");
    }
    for (std::size_t r = rows[input]; r < rows[input + 1]; ++r) {
      const std::int32_t token = batch.input_ids[r];
      if (token < 0 || static_cast<std::size_t>(token) >= config.vocab_size) {
        bad_input(input, "token id " + std::to_string(token) + ": expected 0 to " +
                             std::to_string(config.vocab_size - 1) +
                             " (the embedding table); the tokenizer does not belong to this model");
      }
      if (config.type_vocab_size == 0 || batch.token_type_ids.empty()) continue;
      const std::int32_t type = batch.token_type_ids[r];
      if (type < 0 || static_cast<std::size_t>(type) >= config.type_vocab_size) {
        bad_input(input, "token type " + std::to_string(type) + ": expected 0 to " +
                             std::to_string(config.type_vocab_size - 1));
      }
    }
  }
  for (std::size_t layer : wanted.attention_layers) {
    if (layer >= config.n_layers) throw_internal("wanted: no layer " + std::to_string(layer));
  }
  for (std::size_t head : wanted.attention_heads) {
    if (head >= config.n_heads) throw_internal("wanted: no head " + std::to_string(head));
  }
  if (!wanted.ablated.empty() && wanted.ablated.size() != config.n_layers * config.n_heads) {
    throw_internal("wanted: expected an ablation flag for each layer and head");
  }
  if (wanted.stages_of_layer && (*wanted.stages_of_layer >= config.n_layers || batch.inputs() != 1)) {
    throw_internal("wanted: the stages of one layer that is there, of one input");
  }
}

/// Tables that grow with the longest input; they stay in the workspace from batch to batch.
void Encoder::Impl::reserve_tables(const Batch& batch, Scratch& s) const {
  if (s.tables_of != id) {
    s.sinusoidal = {};
    s.rotary = {};
    s.rotary_local = {};
    s.relative_rows = {};
    s.distance_bias.clear();
    s.position_projections.clear();
    s.tables_of = id;
  }
  std::size_t longest = 0;
  for (std::size_t input = 0; input < batch.inputs(); ++input) longest = std::max(longest, batch.length(input));
  const PositionConfig& p = config.position;
  if (p.sinusoidal != PositionConfig::Sinusoidal::none)
    s.sinusoidal.reserve(p.sinusoidal, longest, config.position_width());
  if (p.rotary != PositionConfig::Rotary::none) {
    const std::size_t width = p.rotary_width != 0 ? p.rotary_width : config.d_head;
    const auto local =
        static_cast<std::size_t>(std::count(config.local_layers.begin(), config.local_layers.end(), true));
    if (local < config.n_layers) s.rotary.reserve(p, false, longest, width);
    if (local > 0) s.rotary_local.reserve(p, true, longest, width);
  }
  if (p.relative_bias) {
    s.distance_bias.resize(relative_bias.size());
    for (std::size_t i = 0; i < relative_bias.size(); ++i) {
      s.distance_bias[i].reserve(config.n_heads, longest, [&](std::size_t head, std::int64_t distance) {
        return relative_bias[i]
                            [relative_bucket(distance, p.relative_buckets, p.relative_max_distance) * config.n_heads +
                             head];
      });
    }
  } else if (p.alibi) {
    s.distance_bias.resize(1);
    s.distance_bias[0].reserve(config.n_heads, longest, [&](std::size_t head, std::int64_t distance) {
      return -slopes[head] * static_cast<float>(distance < 0 ? -distance : distance);
    });
  }
  if (p.disentangled) {
    s.position_projections.resize(config.n_layers);
    s.relative_rows.reserve(*p.disentangled, longest);
  }
}

void Encoder::Impl::check_finite(const Batch& batch, ConstMatrix x) const {
  for (std::size_t input = 0; input < batch.inputs(); ++input) {
    if (!all_finite(x.row(batch.row_begin[input]), batch.length(input) * x.cols)) {
      bad_input(input, "expected finite numbers, got NaN or infinity in the result; are the model's weights damaged?");
    }
  }
}

ConstMatrix Encoder::forward(const Batch& batch, Workspace& workspace, const Wanted& wanted, Captured* captured) const {
  const Impl& m = *impl_;
  const ModelConfig& config = m.config;
  Scratch& s = *workspace.impl;
  m.check(batch, wanted);
  m.reserve_tables(batch, s);
  const std::size_t n = batch.rows();
  const Matrix x = matrix_in(s.x, n, config.d_model);
  CaptureTargets targets(config, batch, wanted, captured);
  if (n == 0) return x;

  m.embeddings.forward(batch, x, s, targets.stages());  // [N, d_model]
  for (std::size_t i = 0; i < config.n_layers; ++i) {
    const EncoderLayer& layer = m.layers[config.weights_of_layer(i)];
    const LayerCall call = targets.call(i, s);
    targets.hidden_state(i, x);
    const bool recorded = wanted.stages_of_layer == i && targets.stages() != nullptr;
    if (recorded) layer.record(call, x, *targets.stages());
    const bool convolves = i == 0 && m.convolution != nullptr;
    if (convolves) std::copy_n(x.data, n * config.d_model, matrix_in(s.layer_input, n, config.d_model).data);
    layer.forward(call, x);  // [N, d_model]
    if (convolves) m.convolution->forward({s.layer_input.data(), n, config.d_model}, x, batch.row_begin, s);
    if (recorded) targets.stages()->matrix("block_output", x);
  }
  m.final_norm.apply(x, x, s.executor);  // [N, d_model]
  targets.hidden_state(config.n_layers, x);
  m.check_finite(batch, x);
  return x;
}

void Encoder::pooler_output(const Batch& batch, ConstMatrix hidden, Matrix out, Workspace& workspace) const {
  const Impl& m = *impl_;
  if (m.pooler == nullptr) throw_usage("pooler: this model has no pooler weights; pool by cls or mean");
  const Matrix first = matrix_in(workspace.impl->heads, batch.inputs(), m.config.d_model);
  for (std::size_t i = 0; i < batch.inputs(); ++i)
    std::copy_n(hidden.row(batch.row_begin[i]), hidden.cols, first.row(i));
  LinearTail tail;
  tail.activation = Activation::tanh;
  m.backend.linear(*m.pooler, first, out, tail, workspace.impl->executor);
}

}  // namespace mha
