#include "encoder/position_encoding.hpp"

#include <algorithm>
#include <cmath>

#include "encoder/row_blocks.hpp"

namespace mha {
namespace {

constexpr double kSinusoidalBase = 10000.0;
constexpr std::size_t kLeastRows = 64;

/// Rows to build when `rows` are wanted: doubling, so that inputs of growing length do not rebuild it each time.
std::size_t grown(std::size_t have, std::size_t rows) { return std::max({rows, 2 * have, kLeastRows}); }

}  // namespace

void SinusoidalTable::reserve(PositionConfig::Sinusoidal layout, std::size_t rows, std::size_t width) {
  if (rows <= rows_) return;
  rows_ = grown(rows_, rows);
  width_ = width;
  values_.reserve(rows_ * width);
  const bool interleaved = layout == PositionConfig::Sinusoidal::interleaved;
  const std::size_t sines = (width + 1) / 2;
  for (std::size_t i = 0; i < sines; ++i) {
    const double divisor = std::pow(kSinusoidalBase, 2.0 * static_cast<double>(i) / static_cast<double>(width));
    const std::size_t sine_column = interleaved ? 2 * i : i;
    const std::size_t cosine_column = interleaved ? 2 * i + 1 : sines + i;
    for (std::size_t position = 0; position < rows_; ++position) {
      const double angle = static_cast<double>(position) / divisor;
      float* row = values_.data() + position * width;
      row[sine_column] = static_cast<float>(std::sin(angle));
      if (cosine_column < width) row[cosine_column] = static_cast<float>(std::cos(angle));
    }
  }
}

void RotaryTable::reserve(const PositionConfig& position, bool local, std::size_t rows, std::size_t width) {
  if (rows <= rows_) return;
  rows_ = grown(rows_, rows);
  width_ = width;
  values_.reserve(rows_ * width);
  const double base = local ? position.rotary_base_local : position.rotary_base;
  // RoFormer's table is made in double; the others multiply positions and frequencies in float32, and at thousands of
  // tokens that rounding is what the published vectors contain.
  const bool in_float = position.rotary == PositionConfig::Rotary::halves;
  for (std::size_t i = 0; i < width / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(width);
    double frequency = 1.0 / std::pow(base, exponent);
    if (in_float) {
      const auto power = static_cast<float>(std::pow(base, static_cast<double>(static_cast<float>(exponent))));
      frequency = static_cast<double>(static_cast<float>(1.0F / power) / static_cast<float>(position.rotary_divisor));
    }
    for (std::size_t row = 0; row < rows_; ++row) {
      double angle = static_cast<double>(row) * frequency;
      if (in_float) angle = static_cast<double>(static_cast<float>(angle));
      values_.data()[row * width + i] = static_cast<float>(std::cos(angle));
      values_.data()[row * width + width / 2 + i] = static_cast<float>(std::sin(angle));
    }
  }
}

namespace {

void rotate_halves(float* x, const float* cosines, const float* sines, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    const float first = x[i];
    const float second = x[i + half];
    x[i] = first * cosines[i] - second * sines[i];
    x[i + half] = second * cosines[i] + first * sines[i];
  }
}

void rotate_pairs(float* x, const float* cosines, const float* sines, std::size_t half) {
  for (std::size_t i = 0; i < half; ++i) {
    const float first = x[2 * i];
    const float second = x[2 * i + 1];
    x[2 * i] = first * cosines[i] - second * sines[i];
    x[2 * i + 1] = second * cosines[i] + first * sines[i];
  }
}

}  // namespace

void rotate(PositionConfig::Rotary layout, const RotaryTable& table, Matrix x, std::span<const std::size_t> row_begin,
            std::size_t d_head, Executor* executor) {
  const auto turn = layout == PositionConfig::Rotary::halves ? rotate_halves : rotate_pairs;
  for_row_blocks(executor, x.rows, [&](std::size_t begin, std::size_t count) {
    auto input = std::upper_bound(row_begin.begin(), row_begin.end(), begin) - 1;
    for (std::size_t row = begin; row < begin + count; ++row) {
      while (row >= *(input + 1)) ++input;
      const float* cosines = table.cosines(row - *input);
      const float* sines = table.sines(row - *input);
      for (std::size_t head = 0; head < x.cols; head += d_head)
        turn(x.row(row) + head, cosines, sines, table.width() / 2);
    }
  });
}

}  // namespace mha
