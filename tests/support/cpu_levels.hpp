#pragma once

#include <hwy/targets.h>

#include <string>

namespace mha::test {

/// Runs `body` once for every level that the Highway kernels were compiled for and this machine has.
template <class Body>
void for_each_simd_level(const Body& body) {
  const auto all = static_cast<std::int64_t>(hwy::SupportedTargets() & (HWY_EMU128 | HWY_AVX2 | HWY_AVX3));
  for (const std::int64_t level : {std::int64_t{HWY_EMU128}, std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}}) {
    if ((all & level) == 0) continue;
    hwy::SetSupportedTargetsForTest(level);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(std::string(hwy::TargetName(level)));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace mha::test
