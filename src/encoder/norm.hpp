#pragma once

#include <vector>

#include "mha/core/executor.hpp"
#include "mha/encoder/config.hpp"
#include "mha/ops/normalization.hpp"
#include "mha/ops/weights.hpp"

namespace mha {

/// gamma and beta as float32, ready for the kernels; a default-constructed one is absent.
class Norm {
 public:
  Norm() = default;
  Norm(const NormConfig& config, const NormWeights& weights);

  bool present() const { return !gamma_.empty(); }
  /// For the tail of a product; nullptr if the model has no norm here.
  const RowNorm* row() const { return present() ? &row_ : nullptr; }
  /// The usual magnitude of each column of the result: three standard deviations, and beta.
  std::vector<float> range() const;
  /// y = norm(x), or a copy of x if there is no norm. y may be x.
  void apply(ConstMatrix x, Matrix y, Executor* executor) const;

  Norm(Norm&&) = default;
  Norm& operator=(Norm&&) = default;

 private:
  std::vector<float> gamma_;
  std::vector<float> beta_;
  RowNorm row_;
};

}  // namespace mha
