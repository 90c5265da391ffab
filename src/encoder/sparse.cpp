#include "mha/encoder/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "encoder/workspace.hpp"
#include "mha/core/error.hpp"
#include "ops/vector.hpp"

namespace mha {
namespace {

// Tokens whose logits are held at a time: a vocabulary is wide.
constexpr std::size_t kRows = 16;

float weight_of(float logit, bool log_twice) {
  const float once = std::log1p(std::max(logit, 0.0F));
  return log_twice ? std::log1p(once) : once;
}

}  // namespace

void pool_sparse(const SparsePooling& pooling, const Head& head, ConstMatrix hidden, std::size_t row_begin,
                 std::size_t row_end, Workspace& workspace, std::vector<SparseEntry>& out) {
  Scratch& s = *workspace.impl;
  const std::size_t width = head.outputs();
  // Of the greatest the logit is kept: the weight grows with it.
  s.sparse_weights.assign(width, 0.0F);
  std::vector<std::size_t> rows;
  for (std::size_t begin = row_begin; begin < row_end; begin += kRows) {
    rows.resize(std::min(kRows, row_end - begin));
    std::iota(rows.begin(), rows.end(), begin);
    const Matrix logits = matrix_in(s.sparse_logits, rows.size(), width);
    head.logits_at(rows, hidden, logits, workspace);
    if (!all_finite(logits.data, rows.size() * width))
      throw_input("sparse vector: expected finite numbers, got NaN or infinity");
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const float* row = logits.row(r);
      for (std::size_t i = 0; i < width; ++i) {
        float& weight = s.sparse_weights[i];
        weight = pooling.sum ? weight + weight_of(row[i], pooling.log_twice) : std::max(weight, row[i]);
      }
    }
  }
  out.clear();
  for (std::size_t i = 0; i < width; ++i) {
    const float weight = pooling.sum ? s.sparse_weights[i] : weight_of(s.sparse_weights[i], pooling.log_twice);
    if (weight > 0.0F) out.push_back({static_cast<std::int32_t>(i), weight});
  }
}

}  // namespace mha
