// Which of the compiled kernels Highway's dispatch takes. Stands for libhwy, of which nothing else is used: at load
// that library measures the timer's resolution, 2.5 ms of a program that has its vector in ten.
#include <hwy/targets.h>

#include "ops/cpu.hpp"

namespace hwy {
namespace {

std::int64_t for_test = 0;

}  // namespace

std::int64_t SupportedTargets() {
  if (for_test != 0) return for_test;
  std::int64_t targets = HWY_STATIC_TARGET;
#if HWY_ARCH_X86
  if (mha::cpu_features().avx2) targets |= HWY_AVX2;
  if (mha::cpu_features().avx512) targets |= HWY_AVX3;
#endif
  return targets & HWY_TARGETS;  // a build for one CPU has no lower level
}

void SetSupportedTargetsForTest(std::int64_t targets) { for_test = targets; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
