#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "encoder/norm.hpp"
#include "encoder/scratch.hpp"
#include "encoder/stages.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/weights.hpp"
#include "mha/ops/backend.hpp"

namespace mha {

/// The arguments of one layer's forward pass besides its weights and input.
struct LayerCall {
  std::size_t layer = 0;
  std::span<const std::size_t> row_begin;  ///< [inputs + 1]
  std::span<const std::uint8_t> ablated;   ///< [n_heads] or empty
  Scratch* scratch = nullptr;

  std::span<const std::size_t> capture_heads;  ///< heads whose attention_probs are wanted
  std::span<const std::size_t> capture_begin;  ///< floats before each input
  float* attention_probs = nullptr;            ///< nullptr: not wanted
};

/// Destinations of the values that attention captures (see AttentionCall).
struct AttentionCapture {
  std::span<const std::size_t> heads;
  std::span<const std::size_t> begin;
  float* scores = nullptr;
  float* scaled = nullptr;
  float* probs = nullptr;
};

/// Position arrays that all layers share.
struct PositionTerms {
  std::vector<float> relative_table;  ///< DeBERTa, [2 · span, d_model], normalised if the model does
};

/// One block: multi-head attention and a feed-forward layer, each with residual and norm (Vaswani et al. 2017, §3.1;
/// pre-norm: Xiong et al. 2020). Immutable; `forward` is re-entrant.
class EncoderLayer {
 public:
  /// All arguments must outlive the layer.
  EncoderLayer(const ModelConfig& config, const LayerWeights& layer, const PositionTerms& positions,
               const Backend& backend, Precision precision);
  ~EncoderLayer();
  EncoderLayer(EncoderLayer&&) noexcept;

  /// x [N, d_model] in place.
  void forward(const LayerCall& call, Matrix x) const;
  /// The same steps one by one, each copied out; x [T, d_model] of one input is left as it is.
  void record(const LayerCall& call, ConstMatrix x, StageRecorder& stages) const;

 private:
  struct Projected;
  ConstMatrix before(const Norm& norm, ConstMatrix x, Scratch& s) const;
  LinearTail tail(const Norm& norm, ConstMatrix residual) const;
  Projected project(const LayerCall& call, ConstMatrix input) const;
  DisentangledBias disentangled(const LayerCall& call, ConstMatrix query, ConstMatrix key) const;
  void project_positions(const RelativeRows& rows, PositionProjections& to, Executor* executor) const;
  RotateHeads rotation(const LayerCall& call, Executor* executor) const;
  AttentionCall attention_call(const LayerCall& call, Matrix context, const AttentionCapture& capture) const;
  void attend(const LayerCall& call, ConstMatrix input, Matrix context) const;
  void attend(const LayerCall& call, const Projected& projected, Matrix context, const AttentionCapture& capture) const;
  static AttentionCapture captured_probs(const LayerCall& call);
  void record_feed_forward(ConstMatrix x, Scratch& s, StageRecorder& stages) const;
  void record_shares(ConstMatrix context, StageRecorder& stages) const;

  const ModelConfig& config_;
  const LayerWeights& layer_;
  const PositionTerms& positions_;
  const Backend& backend_;
  Precision precision_;
  bool pre_norm_ = false;
  std::unique_ptr<PackedLinear> qkv_, output_, in_, out_, position_key_, position_query_;
  Norm attention_norm_, feed_forward_norm_;
};

}  // namespace mha
