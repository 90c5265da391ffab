#include "mha/ops/vector.hpp"

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

void AddScaled(float factor, const float* x, float* y, std::size_t count) {
  const F32 d;
  const V32 f = hn::Set(d, factor);
  Transform(d, y, count, [&](auto load, std::size_t i) { return hn::MulAdd(f, load(x + i), load(y + i)); });
}

void Scale(float factor, float* x, std::size_t count) {
  const F32 d;
  const V32 f = hn::Set(d, factor);
  Transform(d, x, count, [&](auto load, std::size_t i) { return hn::Mul(f, load(x + i)); });
}

void MaxInto(const float* x, float* y, std::size_t count) {
  const F32 d;
  Transform(d, y, count, [&](auto load, std::size_t i) { return hn::Max(load(y + i), load(x + i)); });
}

float Dot(const float* x, const float* y, std::size_t count) {
  const F32 d;
  return SumOver(d, count, [&](auto load, std::size_t i) { return hn::Mul(load(x + i), load(y + i)); });
}

float Sum(const float* x, std::size_t count) {
  const F32 d;
  return SumOver(d, count, [&](auto load, std::size_t i) { return load(x + i); });
}

float Manhattan(const float* x, const float* y, std::size_t count) {
  const F32 d;
  return SumOver(d, count, [&](auto load, std::size_t i) { return hn::Abs(hn::Sub(load(x + i), load(y + i))); });
}

float SquaredDistance(const float* x, const float* y, std::size_t count) {
  const F32 d;
  return SumOver(d, count, [&](auto load, std::size_t i) {
    const V32 difference = hn::Sub(load(x + i), load(y + i));
    return hn::Mul(difference, difference);
  });
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
HWY_EXPORT(AddScaled);
HWY_EXPORT(Scale);
HWY_EXPORT(MaxInto);
HWY_EXPORT(Dot);
HWY_EXPORT(Sum);
HWY_EXPORT(Manhattan);
HWY_EXPORT(SquaredDistance);
HWY_EXPORT(Entropy);
HWY_EXPORT(AllFinite);

void add(const float* x, float* y, std::size_t count) { HWY_DYNAMIC_DISPATCH(AddInto)(x, y, count); }
void add_scaled(float factor, const float* x, float* y, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(factor, x, y, count);
}
void scale(float factor, float* x, std::size_t count) { HWY_DYNAMIC_DISPATCH(Scale)(factor, x, count); }
float dot(const float* x, const float* y, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Dot)(x, y, count); }
float sum(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Sum)(x, count); }
float entropy(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(Entropy)(x, count); }
bool all_finite(const float* x, std::size_t count) { return HWY_DYNAMIC_DISPATCH(AllFinite)(x, count); }
float manhattan_distance(const float* x, const float* y, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(Manhattan)(x, y, count);
}
float euclidean_distance(const float* x, const float* y, std::size_t count) {
  return std::sqrt(HWY_DYNAMIC_DISPATCH(SquaredDistance)(x, y, count));
}

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

void normalize_l2(float* x, std::size_t count) {
  constexpr float kShortest = 1e-12F;
  scale(1.0F / std::max(std::sqrt(dot(x, x, count)), kShortest), x, count);
}

void sum_of_rows(ConstMatrix x, float* out) {
  std::copy(x.row(0), x.row(0) + x.cols, out);
  for (std::size_t r = 1; r < x.rows; ++r) add(x.row(r), out, x.cols);
}

void mean_of_rows(ConstMatrix x, float* out) {
  sum_of_rows(x, out);
  scale(1.0F / static_cast<float>(x.rows), out, x.cols);
}

void max_of_rows(ConstMatrix x, float* out) {
  std::copy(x.row(0), x.row(0) + x.cols, out);
  for (std::size_t r = 1; r < x.rows; ++r) HWY_DYNAMIC_DISPATCH(MaxInto)(x.row(r), out, x.cols);
}

void weighted_mean_of_rows(ConstMatrix x, const float* weights, float* out) {
  std::fill(out, out + x.cols, 0.0F);
  for (std::size_t r = 0; r < x.rows; ++r) add_scaled(weights[r], x.row(r), out, x.cols);
  scale(1.0F / sum(weights, x.rows), out, x.cols);
}

}  // namespace mha
#endif
