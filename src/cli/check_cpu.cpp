// Compiled for any CPU of the architecture, and run before the rest of the program: a message in place of an illegal
// instruction.
#include <unistd.h>

#include "cli/required_cpu.hpp"

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

namespace mha::cli {
namespace {

[[noreturn]] void refuse(const char* message, unsigned long length) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, length);
  ::_exit(2);
}

template <unsigned long Length>
[[noreturn]] void refuse(const char (&message)[Length]) {
  refuse(message, Length - 1);
}

#define MHA_NO_CPU(feature) \
  "mha-cli: error: cpu: this program was built for CPUs with " feature ", which this one lacks; build it again here\n"

[[gnu::constructor(101)]] void check_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (kRequiredCpu.avx2 && !__builtin_cpu_supports("avx2")) refuse(MHA_NO_CPU("AVX2"));
  if (kRequiredCpu.avx512 && !__builtin_cpu_supports("avx512f")) refuse(MHA_NO_CPU("AVX-512"));
#elif defined(__aarch64__)
  const unsigned long caps = ::getauxval(AT_HWCAP);
  if (kRequiredCpu.atomics && (caps >> 8 & 1UL) == 0) refuse(MHA_NO_CPU("ARMv8.1 atomics"));
  if (kRequiredCpu.dotprod && (caps >> 20 & 1UL) == 0) refuse(MHA_NO_CPU("dot products"));
  if (kRequiredCpu.sve && (caps >> 22 & 1UL) == 0) refuse(MHA_NO_CPU("SVE"));
#endif
}

}  // namespace
}  // namespace mha::cli
