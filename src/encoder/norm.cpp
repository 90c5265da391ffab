#include "encoder/norm.hpp"

#include <algorithm>
#include <cmath>

#include "encoder/row_blocks.hpp"
#include "ops/convert.hpp"

namespace mha {
namespace {

std::vector<float> floats(const Weight& weight) {
  std::vector<float> values(weight.present() ? weight.view.size() : 0);
  if (weight.present()) to_float32(weight.view, 0, values.size(), values.data());
  return values;
}

}  // namespace

Norm::Norm(const NormConfig& config, const NormWeights& weights)
    : gamma_(floats(weights.gamma)), beta_(floats(weights.beta)) {
  row_.rms = config.kind == NormKind::rms_norm;
  row_.gamma = gamma_.data();
  row_.beta = beta_.empty() ? nullptr : beta_.data();
  row_.eps = static_cast<float>(config.eps);
}

std::vector<float> Norm::range() const {
  std::vector<float> range(gamma_.size());
  for (std::size_t c = 0; c < range.size(); ++c) {
    range[c] = 3 * std::abs(gamma_[c]) + (beta_.empty() ? 0.0F : std::abs(beta_[c]));
  }
  return range;
}

void Norm::apply(ConstMatrix x, Matrix y, Executor* executor) const {
  if (!present() && x.data == y.data) return;
  for_row_blocks(executor, x.rows, [&](std::size_t begin, std::size_t count) {
    if (present()) return normalize_rows(row_, x.rows_of(begin, count), y.rows_of(begin, count));
    for (std::size_t r = begin; r < begin + count; ++r) std::copy_n(x.row(r), x.cols, y.row(r));
  });
}

}  // namespace mha
