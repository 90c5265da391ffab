#include "ops/cpu.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "mha/core/error.hpp"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace mha {
namespace {

/// The features of this architecture, by the words that name them.
struct Feature {
  bool CpuFeatures::*flag;
  std::string_view word;
};

#if defined(__linux__) && defined(__x86_64__)

constexpr Feature kFeatures[] = {{&CpuFeatures::avx2, "avx2"},
                                 {&CpuFeatures::avx_vnni, "avx_vnni"},
                                 {&CpuFeatures::avx512, "avx512"},
                                 {&CpuFeatures::avx512_bf16, "avx512_bf16"},
                                 {&CpuFeatures::avx512_vnni, "avx512_vnni"},
                                 {&CpuFeatures::amx_bf16, "amx_bf16"},
                                 {&CpuFeatures::amx_int8, "amx_int8"}};

/// The tile registers are 8 KiB per thread and off until a process asks (Linux 5.16, Documentation/x86/xstate.rst).
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
  if (cpu.avx2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    cpu.avx_vnni = (a >> 4 & 1U) != 0;
    cpu.avx512_bf16 = cpu.avx512 && (a >> 5 & 1U) != 0;
  }
  // A pair is one instruction a cycle on AMD's cores, as a multiply-add is. Measured on Intel's (Sapphire Rapids): 1.7
  // cycles against half of one, so that half the products per second come out of it.
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

#elif defined(__linux__) && defined(__aarch64__)

constexpr Feature kFeatures[] = {{&CpuFeatures::asimd, "asimd"},
                                 {&CpuFeatures::dotprod, "dotprod"},
                                 {&CpuFeatures::i8mm, "i8mm"},
                                 {&CpuFeatures::bf16, "bf16"},
                                 {&CpuFeatures::sve, "sve"}};

/// Bits of the kernel's auxiliary vector (Linux, Documentation/arch/arm64/elf_hwcaps.rst).
CpuFeatures detect() {
  const auto has = [](unsigned long caps, unsigned bit) { return (caps >> bit & 1UL) != 0; };
  const unsigned long caps = ::getauxval(AT_HWCAP);
  const unsigned long more = ::getauxval(AT_HWCAP2);
  CpuFeatures cpu;
  cpu.asimd = has(caps, 1);     // HWCAP_ASIMD
  cpu.dotprod = has(caps, 20);  // HWCAP_ASIMDDP
  cpu.sve = has(caps, 22);      // HWCAP_SVE
  cpu.i8mm = has(more, 13);     // HWCAP2_I8MM
  cpu.bf16 = has(more, 14);     // HWCAP2_BF16
  return cpu;
}

#else

constexpr Feature kFeatures[] = {{&CpuFeatures::asimd, "asimd"}};

CpuFeatures detect() { return {}; }

#endif

/// The features without those that are not in `allowed`, if there is a list.
CpuFeatures keep(CpuFeatures cpu, const std::vector<std::string>* allowed) {
  for (const auto& [flag, word] : kFeatures) {
    const bool is_allowed = allowed == nullptr || std::find(allowed->begin(), allowed->end(), word) != allowed->end();
    cpu.*flag = cpu.*flag && is_allowed;
    if (!(cpu.*flag)) continue;
    if (!cpu.text.empty()) cpu.text += ' ';
    cpu.text += word;
  }
  cpu.fast_bf16_pairs = cpu.fast_bf16_pairs && cpu.avx512_bf16;
  return cpu;
}

CpuFeatures& features() {
  static CpuFeatures cpu = keep(detect(), nullptr);
  return cpu;
}

}  // namespace

const CpuFeatures& cpu_features() { return features(); }

void limit_cpu_features(std::string_view allowed) {
  std::istringstream text{std::string(allowed)};
  const std::vector<std::string> words(std::istream_iterator<std::string>(text), {});
  for (const std::string& word : words) {
    const bool known =
        std::any_of(std::begin(kFeatures), std::end(kFeatures), [&](const Feature& f) { return f.word == word; });
    if (known) continue;
    std::string list;
    for (const Feature& each : kFeatures) list.append(list.empty() ? "" : ", ").append(each.word);
    throw_usage("expected words of " + list + ", got \"" + word + '"');
  }
  features() = keep(detect(), &words);
}

}  // namespace mha
