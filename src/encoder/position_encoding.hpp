#pragma once

#include <cstddef>
#include <span>

#include "mha/core/executor.hpp"
#include "mha/core/tensor.hpp"
#include "mha/encoder/config.hpp"

namespace mha {

/// The computed table that is added to the embedding (Vaswani et al. 2017, §3.5), as long as the longest input so far.
///   interleaved   PE[pos, 2i] = sin(pos / 10000^(2i/width)), PE[pos, 2i+1] = cos(the same)
///   halves        the sines in the first ⌈width/2⌉ columns, the cosines behind (Marian)
/// Computed in double, stored as float32.
class SinusoidalTable {
 public:
  void reserve(PositionConfig::Sinusoidal layout, std::size_t rows, std::size_t width);
  const float* row(std::size_t position) const { return values_.data() + position * width_; }

 private:
  std::size_t rows_ = 0;
  std::size_t width_ = 0;
  FloatBuffer values_;
};

/// Cosines and sines of the rotation of one head (Su et al. 2021): column pair i of position pos turns by
/// pos / base^(2i/width).
class RotaryTable {
 public:
  void reserve(const PositionConfig& position, bool local, std::size_t rows, std::size_t width);
  std::size_t width() const { return width_; }
  const float* cosines(std::size_t position) const { return values_.data() + position * width_; }
  const float* sines(std::size_t position) const { return cosines(position) + width_ / 2; }

 private:
  std::size_t rows_ = 0;
  std::size_t width_ = 0;
  FloatBuffer values_;  // a row: width/2 cosines, width/2 sines
};

/// Rotates the first `table.width()` columns of each head of x [N, n_heads · d_head] in place, positions counted from
/// each input's first row. `halves` pairs column i with i + width/2, `pairs` column 2i with 2i + 1.
void rotate(PositionConfig::Rotary layout, const RotaryTable& table, Matrix x, std::span<const std::size_t> row_begin,
            std::size_t d_head, Executor* executor);

}  // namespace mha
