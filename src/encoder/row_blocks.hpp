#pragma once

#include <algorithm>
#include <cstddef>

#include "mha/core/executor.hpp"

namespace mha {

/// Calls `block(first row, rows)` for blocks of a row-wise step. The cuts do not change any row's result.
template <class Block>
void for_row_blocks(Executor* executor, std::size_t rows, const Block& block) {
  constexpr std::size_t kRows = 64;
  if (executor == nullptr || rows <= kRows) return block(0, rows);
  parallel_for(executor, (rows + kRows - 1) / kRows,
               [&](std::size_t i) { block(i * kRows, std::min(kRows, rows - i * kRows)); });
}

}  // namespace mha
