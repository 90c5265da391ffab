// The width of a panel of codes, per CPU level.
#if defined(MHA_OPS_NATIVE_CODES_PANEL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_CODES_PANEL_INL_HPP
#undef MHA_OPS_NATIVE_CODES_PANEL_INL_HPP
#else
#define MHA_OPS_NATIVE_CODES_PANEL_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

using I32 = hn::RebindToSigned<F32>;

constexpr std::size_t kCodeVectors = 2;

HWY_INLINE std::size_t CodePanelWidth() { return kCodeVectors * hn::Lanes(F32()); }

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
