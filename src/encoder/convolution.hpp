#pragma once

#include <memory>
#include <span>
#include <vector>

#include "encoder/norm.hpp"
#include "encoder/scratch.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/weights.hpp"
#include "mha/ops/backend.hpp"

namespace mha {

/// A convolution over the tokens of each input, beside the first layer: y = norm(activation(conv(x)) + y)
/// (DeBERTa-v2's ConvLayer). Zero beyond an input's ends.
class Convolution {
 public:
  Convolution(const ModelConfig& config, const Weights& weights, const Backend& backend, Precision precision);

  /// x [N, d_model] entered the layer, y [N, d_model] left it.
  void forward(ConstMatrix x, Matrix y, std::span<const std::size_t> row_begin, Scratch& scratch) const;

 private:
  const Backend& backend_;
  ConvolutionConfig config_;
  std::vector<float> unfolded_weights_;  // [d_model, kernel · d_model]
  std::unique_ptr<PackedLinear> linear_;
  Norm norm_;
};

}  // namespace mha
