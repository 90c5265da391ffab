#pragma once

#include "hwy/highway.h"

/// Target attributes of the kernels that need more than a level of Highway's. Each begins a region in place of
/// HWY_BEFORE_NAMESPACE() and ends with HWY_AFTER_NAMESPACE(). A function of a header is always compiled in the region
/// of the same level: the linker keeps one copy of it, which then suits every CPU that runs it.
#define MHA_BEFORE_LEVEL(features)             \
  HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR features) \
  static_assert(true, "for the semicolon")

#define MHA_BEFORE_AVX_VNNI() MHA_BEFORE_LEVEL(",avxvnni")
#define MHA_BEFORE_AVX512_VNNI() MHA_BEFORE_LEVEL(",avx512vnni")
#define MHA_BEFORE_AVX512_BF16() MHA_BEFORE_LEVEL(",avx512vnni,avx512bf16")
#define MHA_BEFORE_AMX() MHA_BEFORE_LEVEL(",avx512vnni,avx512bf16,amx-tile,amx-bf16,amx-int8")
