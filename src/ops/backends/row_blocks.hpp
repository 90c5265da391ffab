#pragma once

#include <functional>
#include <vector>

#include "mha/ops/backend.hpp"

namespace mha {

/// A linear of a library that multiplies only: `product(x, y)` computes x·Wᵀ for a block of rows cut at fixed places,
/// so that results do not depend on threads; bias, activation, residual and norm follow while the block is in cache.
void linear_in_row_blocks(std::size_t block, const std::vector<float>& bias, ConstMatrix x, Matrix y,
                          const LinearTail& tail, Executor* executor,
                          const std::function<void(ConstMatrix, Matrix)>& product);

}  // namespace mha
