#pragma once

#include <hwy/targets.h>

#include <string>

namespace mha::test {

/// Whether the level of that name has a fused multiply-add.
inline bool has_fma(const std::string& level) {
  return level == "AVX2" || level == "AVX3" || level.rfind("NEON", 0) == 0;
}

/// Runs `body` once for every level that the Highway kernels were compiled for and this machine has.
template <class Body>
void for_each_simd_level(const Body& body) {
  const auto all = static_cast<std::int64_t>(hwy::SupportedTargets());
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    const std::int64_t level = rest & -rest;
    hwy::SetSupportedTargetsForTest(level);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(std::string(hwy::TargetName(level)));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace mha::test
