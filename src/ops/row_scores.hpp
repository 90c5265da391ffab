#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Scores of one query against many stored vectors. Each row's score depends on the row alone, never on its neighbours.
/// Rows need no alignment. Functions are safe to call from any thread.
namespace mha {

/// scores[r] = query · rows[r]: rows are `count` float32 vectors of the query's width, one after the other.
/// Within width/8·2⁻²⁴·Σ|q·x| of the exact sum.
void score_f32(std::span<const float> query, const std::byte* rows, std::size_t count, float* scores);

/// A vector as signed bytes: x ≈ scale · codes.
struct CodedVector {
  float scale = 0;
  std::vector<std::int8_t> codes;
};
/// Scales the largest magnitude to 127 and rounds to nearest. A zero vector has scale 0.
CodedVector code_int8(std::span<const float> vector);

/// Bytes of an int8 row: its scale (float32), then one code per dimension.
constexpr std::size_t int8_row_bytes(std::size_t width) { return sizeof(float) + width; }
/// Writes an int8 row of `int8_row_bytes(vector.size())`.
void write_int8_row(std::span<const float> vector, std::byte* row);
/// scores[r] = query · rows[r] of int8 rows. Exact in the codes for widths up to 2¹⁷.
void score_int8(const CodedVector& query, const std::byte* rows, std::size_t count, float* scores);

/// Bytes of a binary row: one bit per dimension, 1 if the value is above 0, padded with 0 to whole 64-bit words.
constexpr std::size_t binary_row_bytes(std::size_t width) { return (width + 63) / 64 * 8; }
void write_binary_row(std::span<const float> vector, std::byte* row);
/// scores[r] = 1 − 2·h/width, where h is the number of signs in which query and row differ.
/// `query` is a binary row of the same width.
void score_binary(std::span<const std::byte> query, std::size_t width, const std::byte* rows, std::size_t count,
                  float* scores);

}  // namespace mha
