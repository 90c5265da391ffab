#pragma once

namespace mha::cli {

/// CPU features that the compiler may use anywhere in this program, because it was built for a certain CPU
/// (-march=native). Debian's builds need none of them. Of the other architecture: false.
struct RequiredCpu {
  bool avx2;
  bool avx512;
  bool sve;
  bool dotprod;
  bool atomics;  // of ARMv8.1
};
extern const RequiredCpu kRequiredCpu;

}  // namespace mha::cli
