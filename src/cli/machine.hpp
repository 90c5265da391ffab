#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mha/core/executor.hpp"

namespace mha::cli {

/// What the CPU calls itself.
std::string cpu_name();
/// Instruction sets that matter here, as the kernel spells them ("avx2", "amx_bf16", …).
std::vector<std::string> cpu_features();

/// Most float32 multiply-adds a second that all threads of the executor reach in registers, in GFLOP/s (an
/// add and a multiply count as two).
double fma_peak_gflops(Executor& executor);

/// Bytes a second that all threads together read from memory, in GB/s.
double read_gb_s(Executor& executor);

/// Most memory that this process has held so far.
double peak_rss_mib();

}  // namespace mha::cli
