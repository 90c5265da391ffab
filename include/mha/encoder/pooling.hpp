#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/ops/activation.hpp"
#include "mha/ops/backend.hpp"
#include "mha/ops/weights.hpp"

namespace mha {

/// Ways to make one vector of an input's token vectors.
enum class PoolingMode { cls, mean, max, last, mean_sqrt_len, weighted_mean, pooler };
/// "cls", "mean", … as `model info` prints it.
std::string_view name_of(PoolingMode mode);
/// The mode with that name; nothing for an unknown one.
std::optional<PoolingMode> pooling_mode_named(std::string_view name);
/// The names of the modes, joined by "+".
std::string text_of(const std::vector<PoolingMode>& modes);

/// A dense layer after pooling (the Dense module of sentence-transformers): y = activation(x·Wᵀ + b).
struct DenseModule {
  std::string folder;  ///< its name in messages: "2_Dense"
  std::size_t in = 0;
  std::size_t out = 0;
  bool bias = true;
  bool normalize_input = false;  ///< x is scaled to length 1 first
  Activation activation = Activation::tanh;
  LinearWeights linear;                        ///< absent until the weights are read
  std::shared_ptr<const void> owner;           ///< keeps the bytes of `linear` alive
  std::shared_ptr<const PackedLinear> packed;  ///< for one backend
};

/// How token vectors become one vector.
struct PoolingConfig {
  std::vector<PoolingMode> pooling{PoolingMode::mean};  ///< the results of several are concatenated
  bool include_prompt = true;                           ///< false: the prompt's tokens are left out
  std::vector<DenseModule> dense;                       ///< applied in order
  bool normalize = false;                               ///< at last, to length 1
};

/// Packs the weights of a dense module. It computes in float32, whatever the precision of the encoder.
void pack_dense(DenseModule& dense, const Backend& backend);

/// Pools the token vectors of one input, hidden [T, d_model]; rows before `first` (an excluded prompt) are left out.
/// `pooler` is the pooler output of the input, needed by one mode, else nullptr. Then come the dense layers, the cut to
/// `dims` (0: none) and the normalisation. Sums run in row order in double: the bits do not depend on the batch.
/// Errors: input "no tokens to pool" or a result that is not finite; usage if `dims` is larger than the result, or
/// the dense layers do not fit the pooling.
void pool(const PoolingConfig& config, ConstMatrix hidden, std::size_t first, const float* pooler, std::size_t dims,
          bool normalize, const Backend& backend, Workspace& workspace, std::vector<float>& out);

}  // namespace mha
