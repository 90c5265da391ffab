#include "ops/cpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mha {
namespace {

#if defined(__linux__) && defined(__x86_64__)

/// The tile registers are 8 KiB a thread and off until a process asks (Linux 5.16, Documentation/x86/xstate.rst).
bool allow_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures detect() {
  CpuFeatures cpu;
  __builtin_cpu_init();
  cpu.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd");
  cpu.avx512_vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (cpu.avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) cpu.avx512_bf16 = (a >> 5 & 1U) != 0;
  // A pair is one instruction a cycle on AMD's cores, as a multiply-add is. Measured on Intel's (Sapphire Rapids): 1.7
  // cycles against half of one, so that half the products a second come out of it.
  cpu.fast_bf16_pairs = __builtin_cpu_is("amd");
  if (cpu.avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    const bool tile = (d >> 24 & 1U) != 0;
    const bool bf16 = tile && (d >> 22 & 1U) != 0;
    const bool int8 = tile && (d >> 25 & 1U) != 0;
    if ((bf16 || int8) && allow_tiles()) {
      cpu.amx_bf16 = bf16 && cpu.avx512_bf16;
      cpu.amx_int8 = int8;
    }
  }
  return cpu;
}

#else

CpuFeatures detect() { return {}; }

#endif

/// The words of MHA_CPU; nothing where it is not set.
std::optional<std::vector<std::string>> limits() {
  const char* const text = std::getenv("MHA_CPU");
  if (text == nullptr) return std::nullopt;
  std::istringstream words(text);
  return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
}

CpuFeatures allowed() {
  CpuFeatures cpu = detect();
  const std::pair<bool*, std::string_view> features[] = {{&cpu.avx2, "avx2"},
                                                         {&cpu.avx512, "avx512"},
                                                         {&cpu.avx512_bf16, "avx512_bf16"},
                                                         {&cpu.avx512_vnni, "avx512_vnni"},
                                                         {&cpu.amx_bf16, "amx_bf16"},
                                                         {&cpu.amx_int8, "amx_int8"}};
  const auto limit = limits();
  for (const std::string& word : limit.value_or(std::vector<std::string>())) {
    const bool known =
        std::any_of(std::begin(features), std::end(features), [&](const auto& f) { return f.second == word; });
    if (!known) {
      throw_usage("MHA_CPU: expected words of avx2, avx512, avx512_bf16, avx512_vnni, amx_bf16, amx_int8, got \"" +
                  word + "\"; unset it to use all that this CPU has");
    }
  }
  for (const auto& [feature, name] : features) {
    *feature = *feature && (!limit || std::find(limit->begin(), limit->end(), name) != limit->end());
    if (*feature) cpu.text += (cpu.text.empty() ? "" : " ") + std::string(name);
  }
  cpu.fast_bf16_pairs = cpu.fast_bf16_pairs && cpu.avx512_bf16;
  return cpu;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures cpu = allowed();
  return cpu;
}

}  // namespace mha
