#include "mha/ops/softmax.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void Softmax(float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const V32 lowest = hn::Set(d, hwy::LowestValue<float>());
  V32 top = lowest;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  if (i < count) top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, count - i), LoadRest(d, x + i, count - i), lowest));
  const V32 max = hn::Set(d, LaneMax(d, top));
  const float total = [&] {
    Transform(d, x, count, [&](auto load, std::size_t j) { return Exp(d, hn::Sub(load(x + j), max)); });
    return SumOver(d, count, [&](auto load, std::size_t j) { return load(x + j); });
  }();
  const V32 inverse = hn::Set(d, 1.0F / total);
  Transform(d, x, count, [&](auto load, std::size_t j) { return hn::Mul(load(x + j), inverse); });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(Softmax);

void softmax(float* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(Softmax)(x, count); }

void softmax_window(float* x, std::size_t count, std::size_t begin, std::size_t end) {
  std::fill(x, x + begin, 0.0F);
  std::fill(x + end, x + count, 0.0F);
  softmax(x + begin, end - begin);
}

}  // namespace mha
#endif
