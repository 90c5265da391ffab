#include "mha/ops/normalization.hpp"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void NormalizeRow(const RowNorm& norm, const float* x, float* y, std::size_t cols) {
  const F32 d;
  const auto width = static_cast<float>(cols);
  const float mean = norm.rms ? 0.0F : SumOver(d, cols, [&](auto load, std::size_t i) { return load(x + i); }) / width;
  const V32 mean_lanes = hn::Set(d, mean);
  const float squares = SumOver(d, cols, [&](auto load, std::size_t i) {
    const V32 difference = hn::Sub(load(x + i), mean_lanes);
    return hn::Mul(difference, difference);
  });
  const V32 inverse = hn::Set(d, 1.0F / std::sqrt(squares / width + norm.eps));
  if (norm.beta == nullptr) {
    Transform(d, y, cols, [&](auto load, std::size_t i) {
      return hn::Mul(hn::Mul(hn::Sub(load(x + i), mean_lanes), inverse), load(norm.gamma + i));
    });
  } else {
    Transform(d, y, cols, [&](auto load, std::size_t i) {
      return hn::MulAdd(hn::Mul(hn::Sub(load(x + i), mean_lanes), inverse), load(norm.gamma + i), load(norm.beta + i));
    });
  }
}

void NormalizeRows(const RowNorm& norm, ConstMatrix x, Matrix y) {
  for (std::size_t r = 0; r < x.rows; ++r) NormalizeRow(norm, x.row(r), y.row(r), x.cols);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(NormalizeRows);

void normalize_rows(const RowNorm& norm, ConstMatrix x, Matrix y) { HWY_DYNAMIC_DISPATCH(NormalizeRows)(norm, x, y); }

}  // namespace mha
#endif
