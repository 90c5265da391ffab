#pragma once

#include <cstddef>

#include "mha/core/tensor.hpp"

namespace mha {

/// Normalisation of whole rows, gamma and beta of the row's width; beta may be nullptr (zero).
struct RowNorm {
  bool rms = false;  ///< RMSNorm (Zhang & Sennrich 2019): no mean is taken off
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float eps = 1e-5F;
};

/// y = (x − mean) / √(variance + eps) · gamma + beta of each row (Ba et al. 2016), biased variance, in two passes over
/// the row: the mean, then the squares of the differences. With `rms`: y = x / √(mean of x² + eps) · gamma + beta.
/// y may be x. A row's result depends on that row alone.
///
/// Error: |y − exact| ≤ 4·2⁻²⁴·(|y| + |gamma| · max|x| / σ) a column, plus what the mean's own rounding adds; held by
/// tests.
void normalize_rows(const RowNorm& norm, ConstMatrix x, Matrix y);

}  // namespace mha
