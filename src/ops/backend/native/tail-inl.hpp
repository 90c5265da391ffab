// What follows a product, on a block of sums that is still in the first-level cache.
#if defined(MHA_OPS_NATIVE_TAIL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_TAIL_INL_HPP
#undef MHA_OPS_NATIVE_TAIL_INL_HPP
#else
#define MHA_OPS_NATIVE_TAIL_INL_HPP
#endif

#include "ops/activation-inl.hpp"
#include "ops/backend/native/engine.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

/// Vectors of finished sums: times the scale where there is one, and the bias. `load` reads a vector or its rest.
template <class Load>
HWY_INLINE V32 WithBias(const native::BlockTail& tail, const float* sums, std::size_t column, const Load& load) {
  const V32 bias = load(tail.bias + column);
  return tail.scale == nullptr ? hn::Add(load(sums + column), bias) : hn::MulAdd(load(sums + column), load(tail.scale + column), bias);
}

/// Calls store(row, column, value, rest) for every vector of the finished block; rest 0: a whole vector. Whole vectors go
/// through the activation four at a time, across rows.
template <class Function, class Store>
HWY_INLINE void FinishVectors(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols,
                              const native::BlockTail& tail, const Function& function, const Store& store) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = cols / lanes * lanes;
  const auto load = [&](const float* from) { return hn::LoadU(d, from); };
  const auto add_residual = [&](V32 value, std::size_t r, std::size_t c) {
    return tail.residual == nullptr ? value : hn::Add(value, hn::LoadU(d, tail.residual + r * tail.residual_stride + c));
  };
  std::size_t row[kWide];
  std::size_t column[kWide];
  std::size_t waiting = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < whole; c += lanes) {
      row[waiting] = r;
      column[waiting] = c;
      if (++waiting < kWide) continue;
      waiting = 0;
      Wide x;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kWide; ++i) {
        x.v[i] = WithBias(tail, sums + row[i] * stride, column[i], load);
      }
      x = function(WideF32(), x);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kWide; ++i) store(row[i], column[i], add_residual(x.v[i], row[i], column[i]), std::size_t{0});
    }
  }
  for (std::size_t i = 0; i < waiting; ++i) {
    const V32 x = WithBias(tail, sums + row[i] * stride, column[i], load);
    store(row[i], column[i], add_residual(function(d, x), row[i], column[i]), std::size_t{0});
  }
  if (whole == cols) return;
  const std::size_t rest = cols - whole;
  for (std::size_t r = 0; r < rows; ++r) {
    const V32 x = WithBias(tail, sums + r * stride, whole, [&](const float* from) { return LoadRest(d, from, rest); });
    V32 value = function(d, x);
    if (tail.residual != nullptr) {
      value = hn::Add(value, LoadRest(d, tail.residual + r * tail.residual_stride + whole, rest));
    }
    store(r, whole, value, rest);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
