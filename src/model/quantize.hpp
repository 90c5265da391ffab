#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mha {

/// Number types of the sentence vectors that are put out, by their names in sentence-transformers.
enum class VectorType {
  f32,
  int8,    ///< one whole number from -128 to 127 per dimension
  binary,  ///< the bytes of `ubinary` minus 128, signed
  ubinary  ///< packs the sign of 8 dimensions per byte (1: above 0), the first in the top bit
};

/// How vectors become whole numbers: sentence-transformers 6.2, util/quantization.py, quantize_embeddings.
struct VectorQuantization {
  VectorType type = VectorType::f32;
  /// int8: least and greatest value of each dimension, [width] each, divided into 255 equal steps; values outside get
  /// the last step. Empty: unit vectors are multiplied by 127 and rounded.
  std::vector<float> least{};
  std::vector<float> greatest{};
};

/// Number of values of a quantized vector: for bits, one byte per 8 dimensions, rounded up.
std::size_t quantized_width(VectorType type, std::size_t width);

/// Replaces a vector by its whole numbers. Ranges, if given, must have its width.
void quantize(const VectorQuantization& quantization, std::vector<float>& vector);

}  // namespace mha
