#pragma once

#include <cstddef>
#include <span>

#include "mha/core/tensor.hpp"

/// Arithmetic on whole float arrays. Sums run in a fixed order that depends on the length alone.
namespace mha {

/// y[i] += x[i].
void add(const float* x, float* y, std::size_t count);
/// x[i] *= factor.
void scale(float factor, float* x, std::size_t count);

/// Σ x[i]·y[i], within count/8·2⁻²⁴·Σ|x[i]·y[i]| of the exact sum.
float dot(const float* x, const float* y, std::size_t count);
/// x·y / (|x|·|y|), summed in double; 0 if one of them has length 0.
double cosine(std::span<const float> x, std::span<const float> y);
/// x / max(|x|, 1e-12), summed in double: unit length, as torch.nn.functional.normalize.
void normalize_l2(std::span<float> x);
/// −Σ x[i]·log2 x[i] in bits, of shares 0 ≤ x[i] ≤ 1 (0 counts as 0), within 2⁻²³ + count/8·2⁻²⁴ of the exact sum,
/// relatively.
float entropy(const float* x, std::size_t count);

/// True if every element is a finite number.
bool all_finite(const float* x, std::size_t count);

/// Mean of the rows of x [T, d], taken in order, into out [d]; T ≥ 1.
void mean_of_rows(ConstMatrix x, float* out);

}  // namespace mha
