#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mha/ops/backend.hpp"
#include "ops/convert.hpp"
#include "support/random.hpp"

namespace mha::test {

inline TensorView view_of(const std::vector<float>& values, std::vector<std::size_t> shape) {
  return {DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(values.data())};
}

/// Random weights of one linear layer, and the arrays that hold them.
struct LinearCase {
  std::vector<float> weight;
  std::vector<float> bias;
  std::vector<std::int8_t> codes;  // after to_codes
  std::vector<float> steps;
  LinearWeights weights;

  LinearCase(std::size_t in, std::size_t out, unsigned seed)
      : weight(normals(in * out, seed, 0.05F)), bias(normals(out, seed + 1)) {
    weights.weight.name = "weight";
    weights.weight.view = view_of(weight, {out, in});
    weights.bias.name = "bias";
    weights.bias.view = view_of(bias, {out});
  }
  LinearCase(const LinearCase&) = delete;
  LinearCase& operator=(const LinearCase&) = delete;

  /// The weights as int8 files have them.
  void to_codes() {
    const std::size_t out = bias.size();
    const std::size_t in = weight.size() / out;
    codes.resize(weight.size());
    for (std::size_t row = 0; row < out; ++row) {
      steps.push_back(quantize_row(weight.data() + row * in, codes.data() + row * in, in));
    }
    weights.weight.view = {DType::i8, {out, in}, reinterpret_cast<const std::byte*>(codes.data())};
    weights.weight.scale = view_of(steps, {out});
  }

  std::unique_ptr<PackedLinear> pack(const Backend& backend, Precision precision) const {
    const LinearWeights* parts[] = {&weights};
    return backend.pack(parts, precision);
  }
};

}  // namespace mha::test
