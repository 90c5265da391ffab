#include "ops/native/epilogue.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/epilogue.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/epilogue-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void StoreRows(const native::Epilogue& epilogue, const native::SumBlock& sums) {
  const F32 d;
  WithActivation(epilogue.activation, allows_coarse_activation(epilogue), [&](const auto& function) {
    ForEachResult(epilogue, sums, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t rest) {
      float* to = epilogue.y + r * epilogue.y_stride + c;
      if (rest == 0) {
        hn::StoreU(value, d, to);
      } else {
        StoreRest(d, value, to, rest);
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(StoreRows);

namespace native {

void store_rows(const Epilogue& epilogue, const SumBlock& sums) { HWY_DYNAMIC_DISPATCH(StoreRows)(epilogue, sums); }

}  // namespace native
}  // namespace mha
#endif
