#include "encoder/convolution.hpp"

#include <algorithm>

#include "ops/convert.hpp"

namespace mha {

Convolution::Convolution(const ModelConfig& config, const Weights& weights, const Backend& backend, Precision precision)
    : backend_(backend), config_(*config.convolution), norm_(*config.norm, weights.convolution_norm) {
  // As a linear layer over kernel neighbouring rows side by side; columns of other groups stay zero.
  const std::size_t d = config.d_model;
  const std::size_t width = d / config_.groups;
  unfolded_weights_.resize(d * config_.kernel * d);
  std::vector<float> row(width * config_.kernel);
  for (std::size_t out = 0; out < d; ++out) {
    to_float32(weights.convolution.weight.view, out * row.size(), row.size(), row.data());
    const std::size_t first = out / width * width;
    for (std::size_t in = 0; in < width; ++in) {
      for (std::size_t k = 0; k < config_.kernel; ++k) {
        unfolded_weights_[(out * config_.kernel + k) * d + first + in] = row[in * config_.kernel + k];
      }
    }
  }
  LinearWeights linear;
  linear.weight.name = weights.convolution.weight.name;
  linear.weight.view = {
      DType::f32, {d, config_.kernel * d}, reinterpret_cast<const std::byte*>(unfolded_weights_.data())};
  linear.bias = weights.convolution.bias;
  const LinearWeights* const joined[] = {&linear};
  linear_ = backend.pack(joined, precision);
}

void Convolution::forward(ConstMatrix x, Matrix y, std::span<const std::size_t> row_begin, Scratch& scratch) const {
  const std::size_t reach = config_.kernel / 2;
  const Matrix unfolded = matrix_in(scratch.unfolded, x.rows, config_.kernel * x.cols);
  for (std::size_t input = 0; input + 1 < row_begin.size(); ++input) {
    for (std::size_t r = row_begin[input]; r < row_begin[input + 1]; ++r) {
      for (std::size_t k = 0; k < config_.kernel; ++k) {
        float* to = unfolded.row(r) + k * x.cols;
        const bool inside = r + k >= row_begin[input] + reach && r + k < row_begin[input + 1] + reach;
        if (inside)
          std::copy_n(x.row(r + k - reach), x.cols, to);
        else
          std::fill_n(to, x.cols, 0.0F);
      }
    }
  }
  backend_.linear(*linear_, unfolded, y, {config_.activation, y, norm_.row()}, scratch.executor);  // [N, d_model]
}

}  // namespace mha
