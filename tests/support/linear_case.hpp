#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "mha/ops/backend.hpp"
#include "support/random.hpp"

namespace mha::test {

inline TensorView view_of(const std::vector<float>& values, std::vector<std::size_t> shape) {
  return {DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(values.data())};
}

/// Random weights of one linear layer and the arrays behind them.
struct LinearCase {
  std::vector<float> weight;
  std::vector<float> bias;
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

  std::unique_ptr<PackedLinear> pack(const Backend& backend, Precision precision) const {
    const LinearWeights* parts[] = {&weights};
    return backend.pack(parts, precision);
  }
};

}  // namespace mha::test
