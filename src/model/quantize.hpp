#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mha {

/// Number types of the sentence vectors that are put out, by their names in sentence-transformers.
enum class VectorType {
  f32,
  int8,    ///< a whole number from -128 a dimension
  binary,  ///< a bit a dimension, 1 where it is above 0: eight a byte, the first in the highest, less 128
  ubinary  ///< the same bytes from 0
};

/// How vectors become whole numbers: sentence-transformers 6.2, util/quantization.py, quantize_embeddings.
struct VectorQuantization {
  VectorType type = VectorType::f32;
  /// int8: least and greatest value of each dimension, [width] each, cut into 255 equal steps; what lies outside gets
  /// the last step. Empty: unit vectors, times 127 and rounded.
  std::vector<float> least{};
  std::vector<float> greatest{};
};

/// Numbers of a quantized vector: with bits a byte for each eight dimensions begun.
std::size_t quantized_width(VectorType type, std::size_t width);

/// Replaces a vector by its whole numbers. Ranges, where there are any, must have its width.
void quantize(const VectorQuantization& quantization, std::vector<float>& vector);

}  // namespace mha
