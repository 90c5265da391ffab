#include "model/quantize.hpp"

#include <algorithm>
#include <cmath>

#include "mha/core/error.hpp"

namespace mha {
namespace {

constexpr float kLevels = 255.0F;
constexpr float kOffset = 128.0F;  // of signed bytes
constexpr float kUnitScale = 127.0F;
constexpr std::size_t kBits = 8;

// In float32, step by step as NumPy does it, so that the same levels come out.
void use_ranges(const VectorQuantization& quantization, std::vector<float>& vector) {
  if (quantization.least.size() != vector.size()) throw_internal("quantize: ranges of another width than the vector");
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const float least = quantization.least[i];
    const float step = (quantization.greatest[i] - least) / kLevels;
    const float level = std::floor((vector[i] - least) / (step == 0.0F ? 1.0F : step));
    vector[i] = std::clamp(level, 0.0F, kLevels) - kOffset;
  }
}

void scale_units(std::vector<float>& vector) {
  for (float& value : vector) {
    value = std::clamp(std::nearbyint(value * kUnitScale), -kUnitScale, kUnitScale) + 0.0F;  // no negative zero
  }
}

void pack_bits(std::vector<float>& vector, float offset) {
  const std::size_t bytes = quantized_width(VectorType::ubinary, vector.size());
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    unsigned packed = 0;
    for (std::size_t bit = 0; bit < kBits; ++bit) {
      const std::size_t i = byte * kBits + bit;
      packed = packed << 1U | static_cast<unsigned>(i < vector.size() && vector[i] > 0.0F);
    }
    vector[byte] = static_cast<float>(packed) - offset;
  }
  vector.resize(bytes);
}

}  // namespace

std::size_t quantized_width(VectorType type, std::size_t width) {
  const bool bits = type == VectorType::binary || type == VectorType::ubinary;
  return bits ? (width + kBits - 1) / kBits : width;
}

void quantize(const VectorQuantization& quantization, std::vector<float>& vector) {
  switch (quantization.type) {
    case VectorType::f32:
      return;
    case VectorType::int8:
      return quantization.least.empty() ? scale_units(vector) : use_ranges(quantization, vector);
    case VectorType::binary:
      return pack_bits(vector, kOffset);
    case VectorType::ubinary:
      return pack_bits(vector, 0.0F);
  }
}

}  // namespace mha
