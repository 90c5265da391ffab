#pragma once

#include <string>

namespace mha {

/// What this CPU can do and the operating system allows, found once.
struct CpuFeatures {
  bool avx2 = false;    ///< with FMA
  bool avx512 = false;  ///< F, BW, DQ, VL, CD
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
  bool fast_bf16_pairs = false;  ///< avx512_bf16 does more than float32 multiply-add does in the same time
  bool amx_bf16 = false;         ///< tiles, with the kernel's permission for this process
  bool amx_int8 = false;
  std::string text;  ///< "avx2 avx512 …"
};

/// Asks the operating system for the tile registers at the first call. `MHA_CPU` in the environment (a list of features
/// that may be used, such as "avx2" or "avx512 avx512_bf16") takes features away: for tests of the slower kernels.
/// Throws Error{usage} for a word there that is none.
const CpuFeatures& cpu_features();

}  // namespace mha
