#include "ops/vector.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/vector.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void AddInto(const float* x, float* y, std::size_t count) {
  const F32 d;
  Transform(d, y, count, [&](auto load, std::size_t i) { return hn::Add(load(y + i), load(x + i)); });
}

void Scale(float factor, float* x, std::size_t count) {
  const F32 d;
  const V32 f = hn::Set(d, factor);
  Transform(d, x, count, [&](auto load, std::size_t i) { return hn::Mul(f, load(x + i)); });
}

float Dot(const float* x, const float* y, std::size_t count) {
  const F32 d;
  return SumOver(d, count, [&](auto load, std::size_t i) { return hn::Mul(load(x + i), load(y + i)); });
}

float Entropy(const float* x, std::size_t count) {
  const F32 d;
  return -SumOver(d, count, [&](auto load, std::size_t i) {
    const V32 share = load(x + i);
    return hn::Mul(share, Log2(d, share));
  });
}

bool AllFinite(const float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  // x·0 is 0 for finite x and NaN otherwise, and NaN survives addition.
  V32 sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) sum = hn::MulAdd(hn::LoadU(d, x + i), hn::Zero(d), sum);
  if (i < count) sum = hn::MulAdd(LoadRest(d, x + i, count - i), hn::Zero(d), sum);
  return LaneSum(d, sum) == 0.0F;
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(AddInto);
HWY_EXPORT(Scale);
HWY_EXPORT(Dot);
HWY_EXPORT(Entropy);
HWY_EXPORT(AllFinite);

void add(const float* x, float* y, std::size_t count) { HWY_DYNAMIC_DISPATCH(AddInto)(x, y, count); }
void scale(float factor, float* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(Scale)(factor, x, count); }
float dot(const float* x, const float* y, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Dot)(x, y, count); }
float entropy(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Entropy)(x, count); }
bool all_finite(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(AllFinite)(x, count); }

double cosine(std::span<const float> x, std::span<const float> y) {
  double product = 0, squares_x = 0, squares_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i];
    const double b = y[i];
    product += a * b;
    squares_x += a * a;
    squares_y += b * b;
  }
  const double lengths = std::sqrt(squares_x) * std::sqrt(squares_y);
  return lengths > 0 ? product / lengths : 0;
}

void normalize_l2(std::span<float> x) {
  constexpr double kShortest = 1e-12;
  double squares = 0;
  for (const float value : x) squares += double{value} * double{value};
  const double length = std::max(std::sqrt(squares), kShortest);
  for (float& value : x) value = static_cast<float>(double{value} / length);
}

void mean_of_rows(ConstMatrix x, float* out) {
  std::copy(x.row(0), x.row(0) + x.cols, out);
  for (std::size_t r = 1; r < x.rows; ++r) add(x.row(r), out, x.cols);
  scale(1.0F / static_cast<float>(x.rows), out, x.cols);
}

}  // namespace mha
#endif
