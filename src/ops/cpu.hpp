#pragma once

#include <string>
#include <string_view>

namespace mha {

/// What this CPU can do and the operating system allows. Those of the other architecture are false.
struct CpuFeatures {
  bool avx2 = false;             ///< with FMA
  bool avx_vnni = false;         ///< dot products of codes on AVX2's registers
  bool avx512 = false;           ///< F, BW, DQ, VL, CD
  bool avx512_bf16 = false;      ///< dot products of bfloat16 pairs
  bool avx512_vnni = false;      ///< dot products of codes
  bool fast_bf16_pairs = false;  ///< avx512_bf16 does more than float32 multiply-add does in the same time
  bool amx_bf16 = false;         ///< tiles, with the kernel's permission for this process
  bool amx_int8 = false;

  bool asimd = false;    ///< NEON, which every arm64 CPU has
  bool dotprod = false;  ///< dot products of codes (SDOT, UDOT)
  bool i8mm = false;     ///< matrix products of codes (SMMLA, USMMLA)
  bool bf16 = false;     ///< dot products and matrix products of bfloat16 (BFDOT, BFMMLA)
  bool sve = false;

  std::string text;  ///< "avx2 avx512 …", "asimd dotprod …"
};

/// Found at the first call, which asks the operating system for the tile registers.
const CpuFeatures& cpu_features();

/// Takes away all features but the words of `allowed`, separated by blanks ("avx2 avx512", or none): for tests of
/// slower kernels, and for results as on a lesser CPU. Call it before anything else of the library. Throws Error{usage}
/// for a word that is no feature of this architecture.
void limit_cpu_features(std::string_view allowed);

}  // namespace mha
