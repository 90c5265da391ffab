#pragma once

#include <cstddef>
#include <span>

#include "mha/core/tensor.hpp"

/// Arithmetic on whole float arrays. Sums run in a fixed order that depends on the length alone.
namespace mha {

/// y[i] += x[i].
void add(const float* x, float* y, std::size_t count);
/// y[i] += factor · x[i], one rounding.
void add_scaled(float factor, const float* x, float* y, std::size_t count);
/// x[i] *= factor.
void scale(float factor, float* x, std::size_t count);

/// Σ x[i]·y[i], within count/8·2⁻²⁴·Σ|x[i]·y[i]| of the exact sum.
float dot(const float* x, const float* y, std::size_t count);
/// Σ x[i], within count/8·2⁻²⁴·Σ|x[i]| of the exact sum.
float sum(const float* x, std::size_t count);
/// x·y / (|x|·|y|), summed in double; 0 where one of them has length 0: it points nowhere.
double cosine(std::span<const float> x, std::span<const float> y);
/// −Σ x[i]·log2 x[i] in bits, of shares 0 ≤ x[i] ≤ 1 (0 counts as 0), within 2⁻²³ + count/8·2⁻²⁴ of the exact sum, relatively.
float entropy(const float* x, std::size_t count);
/// Σ |x[i] − y[i]| and √Σ (x[i] − y[i])².
float manhattan_distance(const float* x, const float* y, std::size_t count);
float euclidean_distance(const float* x, const float* y, std::size_t count);

/// x / max(|x|, 1e-12): unit length, as torch.nn.functional.normalize. Each element within 3 ULP + count/16·2⁻²⁴.
void normalize_l2(float* x, std::size_t count);

/// Whether every element is a finite number.
bool all_finite(const float* x, std::size_t count);

/// Reductions over the rows of x [T, d] into out [d]; T ≥ 1. Rows are taken in order.
void mean_of_rows(ConstMatrix x, float* out);
void sum_of_rows(ConstMatrix x, float* out);
void max_of_rows(ConstMatrix x, float* out);
/// Σ weights[t] · x[t] / Σ weights[t].
void weighted_mean_of_rows(ConstMatrix x, const float* weights, float* out);

}  // namespace mha
