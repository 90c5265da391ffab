#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace mha::test {

/// Normal numbers from a fixed seed.
inline std::vector<float> normals(std::size_t count, unsigned seed, float deviation = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> distribution(0.0F, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(engine);
  return values;
}

}  // namespace mha::test
