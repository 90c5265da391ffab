#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mha/core/executor.hpp"
#include "mha/core/tensor.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/weights.hpp"
#include "mha/ops/backend.hpp"

namespace mha {

/// Inputs of different length one after the other; nothing is padded, so nothing is masked.
struct Batch {
  std::span<const std::int32_t> input_ids;       ///< [N]
  std::span<const std::int32_t> token_type_ids;  ///< [N], or empty: all zero
  std::span<const std::size_t> row_begin;        ///< [inputs + 1], first 0, last N

  std::size_t inputs() const { return row_begin.empty() ? 0 : row_begin.size() - 1; }
  std::size_t rows() const { return input_ids.size(); }
  std::size_t length(std::size_t input) const { return row_begin[input + 1] - row_begin[input]; }
};

/// The values to keep besides the last hidden state. Capture does not change a bit of the result.
struct Wanted {
  bool hidden_states = false;                  ///< all layers + 1
  std::vector<std::size_t> attention_layers;   ///< layers whose attention_probs are kept, ascending
  std::vector<std::size_t> attention_heads;    ///< heads of these layers, in this order; empty: all
  std::optional<std::size_t> stages_of_layer;  ///< every step of one layer (explain); batches of one input only

  /// [n_layers · n_heads], 1: that head contributes nothing (its context is zero before Wo). Empty: none.
  std::vector<std::uint8_t> ablated;
};

/// A named step of one layer, [rows][cols], or [heads][rows][cols] if heads > 0.
struct Stage {
  std::string name;
  std::size_t heads = 0;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<float> values;
};

/// The captured values of one batch. Reused from batch to batch.
struct Captured {
  std::vector<FloatBuffer> hidden_states;    ///< [n_layers + 1] of [N, d_model]; entry 0 is the input of layer 0,
                                             ///< the last is last_hidden_state (after a final norm)
  std::vector<FloatBuffer> attention_probs;  ///< per wanted layer; input i at `attention_begin[i]`: [heads][T][T]
  std::vector<std::size_t> attention_begin;  ///< [inputs + 1], floats
  /// Steps of `stages_of_layer`, in order: word_embedding, position_encoding and token_type (if the model adds them),
  /// X (the input of the layer), norm1 (pre-norm: the input of the projections), Q, K (both rotated if positions are
  /// rotary), V, scores, scaled (with biases), probabilities, Z, concat, output_share, attention_output, residual1,
  /// attention_norm (post) or norm2 (pre), feed_forward_input, feed_forward_hidden, feed_forward_output,
  /// residual2, block_output. The goldens of pre-norm models use the name X for norm1.
  std::vector<Stage> stages;
};

/// Scratch of one worker thread: grows only by explicit reserve, never shared. The executor, if there is one, spreads a
/// single batch over threads.
class Workspace {
 public:
  explicit Workspace(Executor* executor = nullptr);
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;

  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// One transformer encoder, described by data: every family is this block with different switches.
/// Immutable after construction; `forward` is re-entrant.
class Encoder {
 public:
  /// Checks every shape against the config, then packs the weights for the backend (lazily if that starts faster).
  /// Throws Error{model} that names tensor, expected and found shape.
  Encoder(const ModelConfig& config, Weights weights, const Backend& backend, Precision precision);
  ~Encoder();
  Encoder(Encoder&&) noexcept;

  const ModelConfig& config() const;
  const Weights& weights() const;
  const Backend& backend() const;
  Precision precision() const;

  /// Runs all layers. Returns last_hidden_state [N, d_model], valid until the next use of the workspace. `captured` may
  /// be nullptr if nothing is wanted. Throws Error{input}, naming the input's index in the batch, for a token id beyond
  /// the embedding table, an input longer than max_positions, or a result that is not finite.
  ConstMatrix forward(const Batch& batch, Workspace& workspace, const Wanted& wanted, Captured* captured) const;

  /// The pooler: tanh(first token · Wᵀ + b), [inputs, d_model]. Throws Error{usage} if the model has none.
  void pooler_output(const Batch& batch, ConstMatrix hidden, Matrix out, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
