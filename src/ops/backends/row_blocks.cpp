#include "ops/backends/row_blocks.hpp"

#include <algorithm>

#include "core/round_up.hpp"
#include "ops/vector.hpp"

namespace mha {

void linear_in_row_blocks(std::size_t block, const std::vector<float>& bias, ConstMatrix x, Matrix y,
                          const LinearTail& tail, Executor* executor,
                          const std::function<void(ConstMatrix, Matrix)>& product) {
  parallel_for(executor, divide_up(x.rows, block), [&](std::size_t piece) {
    const std::size_t first = piece * block;
    const std::size_t rows = std::min(block, x.rows - first);
    const Matrix out = y.rows_of(first, rows);
    // y may be the residual, which is read after the product: then the product goes elsewhere.
    const bool apart = tail.residual.data != nullptr;
    thread_local FloatBuffer scratch;
    if (apart) scratch.reserve(block * bias.size());
    const Matrix sums = apart ? Matrix(scratch.data(), rows, bias.size()) : out;
    product(x.rows_of(first, rows), sums);
    for (std::size_t r = 0; r < rows; ++r) {
      float* line = sums.row(r);
      add(bias.data(), line, bias.size());
      activate(tail.activation, line, bias.size());
      if (apart) {
        add(tail.residual.row(first + r), line, bias.size());
        std::copy_n(line, bias.size(), out.row(r));
      }
    }
    if (tail.norm != nullptr) normalize_rows(*tail.norm, out, out);
  });
}

}  // namespace mha
