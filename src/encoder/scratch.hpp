#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encoder/position_encoding.hpp"
#include "encoder/score_bias.hpp"
#include "mha/core/executor.hpp"
#include "mha/core/tensor.hpp"

namespace mha {

/// Rows of DeBERTa's relative table that inputs up to `length` tokens look at.
struct RelativeRows {
  std::size_t length = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  std::vector<std::uint32_t> of_distance;  ///< query − key = δ looks at row first + of_distance[δ + length − 1]

  void reserve(const PositionConfig::Disentangled& config, std::size_t longest);
};

/// Those rows, projected for one layer and scaled as the scores.
struct PositionProjections {
  FloatBuffer query, key;
  std::size_t length = 0;
};

/// What one forward pass writes besides its results, and the tables that grow with the longest input. One a thread.
struct Scratch {
  Executor* executor = nullptr;

  FloatBuffer row;          ///< [d_model] one row of a table
  FloatBuffer words;        ///< [N, embedding_size], factorised only
  FloatBuffer x;            ///< [N, d_model] what a layer reads and, at last, the result
  FloatBuffer attended;     ///< [N, d_model] between attention and feed-forward
  FloatBuffer normed;       ///< [N, d_model] pre-norm only
  FloatBuffer qkv;          ///< [N, (n_heads + 2 n_kv_heads) · d_head]
  FloatBuffer context;      ///< [N, n_heads · d_head]
  FloatBuffer layer_input;  ///< [N, d_model], convolution only
  FloatBuffer unfolded;     ///< [N, kernel · d_model], convolution only
  FloatBuffer heads;        ///< rows gathered for a pooler or a task head
  FloatBuffer head_dense;
  FloatBuffer sparse_logits;          ///< [tokens, vocabulary] of a sparse encoder
  std::vector<float> sparse_weights;  ///< [vocabulary]
  std::vector<double> pooling_sums;   ///< [d_model]
  std::vector<float> pooled;          ///< the input of a dense layer after pooling
  FloatBuffer tokens, more_tokens;    ///< [T, out] of a dense layer before pooling, in turn
  FloatBuffer unit_tokens;            ///< [T, width] scaled to length 1
  FloatBuffer dense_residual;         ///< [rows, out] of a dense layer with a projected residual

  std::uint64_t tables_of = 0;  ///< the encoder that the tables below belong to
  SinusoidalTable sinusoidal;
  RotaryTable rotary, rotary_local;
  std::vector<DistanceBias> distance_bias;  ///< one, or one a layer
  RelativeRows relative_rows;
  std::vector<PositionProjections> position_projections;  ///< a layer
};

/// A [rows, cols] matrix in `buffer`, grown if need be.
inline Matrix matrix_in(FloatBuffer& buffer, std::size_t rows, std::size_t cols) {
  buffer.reserve(rows * cols);
  return {buffer.data(), rows, cols};
}

}  // namespace mha
