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

/// Calls store(row, column, value, rest) for every vector of the finished block; rest 0: a whole vector.
template <class Function, class Store>
HWY_INLINE void FinishVectors(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols,
                              const native::BlockTail& tail, const Function& function, const Store& store) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* line = sums + r * stride;
    const float* residual = tail.residual == nullptr ? nullptr : tail.residual + r * tail.residual_stride;
    std::size_t c = 0;
    for (; c + lanes <= cols; c += lanes) {
      V32 value = function(d, hn::Add(hn::LoadU(d, line + c), hn::LoadU(d, tail.bias + c)));
      if (residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + c));
      store(r, c, value, std::size_t{0});
    }
    if (c < cols) {
      const std::size_t rest = cols - c;
      V32 value = function(d, hn::Add(LoadRest(d, line + c, rest), LoadRest(d, tail.bias + c, rest)));
      if (residual != nullptr) value = hn::Add(value, LoadRest(d, residual + c, rest));
      store(r, c, value, rest);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
