#pragma once

#include <string>

namespace mha {

/// What this machine is and can do: context for measured times.
struct Machine {
  std::string cpu;       ///< its name
  std::string features;  ///< instruction sets the kernels may use, such as "avx2 avx512 avx512_bf16 amx_bf16"
  double fma_peak_gflops =
      0.0;  ///< float32 multiply-add in registers, one thread, 10⁹ operations a second (an FMA is two)
  double bf16_peak_gflops = 0.0;  ///< bfloat16 products on tiles or by dot products; 0 where this CPU has neither
  double int8_peak_gops = 0.0;    ///< int8 products on tiles or by dot products; 0 where this CPU has neither
  double read_gb_s = 0.0;         ///< reading 64 MiB from end to end, one thread, 10⁹ bytes a second
};

/// Measures on the calling thread: the fastest of many short runs, about 50 ms in all.
Machine measure_machine();

}  // namespace mha
