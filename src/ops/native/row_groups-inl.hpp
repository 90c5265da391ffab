// Kernels for groups of rows, whose number a register block must know when it is compiled.
#if defined(MHA_OPS_NATIVE_ROW_GROUPS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_ROW_GROUPS_INL_HPP
#undef MHA_OPS_NATIVE_ROW_GROUPS_INL_HPP
#else
#define MHA_OPS_NATIVE_ROW_GROUPS_INL_HPP
#endif

#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

/// function(std::integral_constant<std::size_t, count>()), 1 ≤ count ≤ Most.
template <std::size_t Most, class Function>
HWY_INLINE void ForCount(std::size_t count, const Function& function) {
  if constexpr (Most > 1) {
    if (count < Most) return ForCount<Most - 1>(count, function);
  }
  function(std::integral_constant<std::size_t, Most>());
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
