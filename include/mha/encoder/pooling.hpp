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

/// A dense layer after the encoder (the Dense module of sentence-transformers): y = activation(x·Wᵀ + b), and with a
/// residual y += x (equal widths) or y += x·Rᵀ.
struct DenseModule {
  std::string folder;  ///< its name in messages: "2_Dense"
  std::size_t in = 0;
  std::size_t out = 0;
  bool bias = true;
  bool normalize_input = false;  ///< x is scaled to length 1 first
  bool residual = false;
  Activation activation = Activation::tanh;
  LinearWeights linear;                                 ///< absent until the weights are read
  LinearWeights residual_linear;                        ///< R [out, in], if the widths differ; no bias
  std::shared_ptr<const void> owner;                    ///< keeps the bytes of the weights alive
  std::shared_ptr<const PackedLinear> packed;           ///< for one backend
  std::shared_ptr<const PackedLinear> packed_residual;  ///< nullptr if the widths are equal

  bool projects_residual() const { return residual && in != out; }
};

/// How token vectors become one vector.
struct PoolingConfig {
  std::vector<PoolingMode> pooling{PoolingMode::mean};  ///< the results of several are concatenated
  bool include_prompt = true;                           ///< false: the prompt's tokens are left out
  std::vector<DenseModule> token_dense;                 ///< applied in order to each token vector, before pooling
  bool normalize_tokens = false;                        ///< after them, each token vector to length 1
  std::vector<DenseModule> dense;                       ///< applied in order to the pooled vector
  bool normalize = false;                               ///< after them, to length 1
  std::size_t truncate_dim = 0;  ///< numbers that are kept of the result, if there are more; 0: all

  /// Width of the token vectors that an encoder of width `d_model` leads to.
  std::size_t token_width(std::size_t d_model) const { return token_dense.empty() ? d_model : token_dense.back().out; }
  /// Width of the vector before it is cut to `truncate_dim` or to dimensions that a caller asks for.
  std::size_t full_width(std::size_t d_model) const {
    return dense.empty() ? token_width(d_model) * pooling.size() : dense.back().out;
  }
  /// Width of the vector.
  std::size_t width(std::size_t d_model) const {
    const std::size_t full = full_width(d_model);
    return truncate_dim != 0 && truncate_dim < full ? truncate_dim : full;
  }
};

/// Packs the weights of a dense module. It computes in float32, whatever the precision of the encoder.
void pack_dense(DenseModule& dense, const Backend& backend);

/// The token vectors [T, token_width] of hidden [T, d_model]: through `token_dense`, then normalised. `hidden` itself
/// if there is nothing to do, else in the workspace until its next use.
ConstMatrix token_vectors(const PoolingConfig& config, ConstMatrix hidden, const Backend& backend,
                          Workspace& workspace);

/// Pools the token vectors of one input, hidden [T, d_model]; rows before `first` (an excluded prompt) are left out.
/// `pooler` is the pooler output of the input, needed by one mode, else nullptr. Token layers come first, then pooling,
/// dense layers, the cut to `dims` and the normalisation. If `dims` is 0, the model's own order holds: the cut to
/// `truncate_dim` follows the normalisation. Sums run in row order in double: the bits do not depend on the batch.
/// Errors: input "no tokens to pool" or a result that is not finite; usage if `dims` is larger than the result, or
/// the dense layers do not fit the pooling.
void pool(const PoolingConfig& config, ConstMatrix hidden, std::size_t first, const float* pooler, std::size_t dims,
          bool normalize, const Backend& backend, Workspace& workspace, std::vector<float>& out);

}  // namespace mha
