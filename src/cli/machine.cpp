#include "cli/machine.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mha::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string cpuinfo_field(const char* key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key) && line.find(':') != std::string::npos) {
      return line.substr(std::min(line.find(':') + 2, line.size()));
    }
  }
  return "";
}

// Twelve chains hide the latency of the unit; a result that is used keeps the compiler from dropping them.
constexpr int kChains = 12;
constexpr std::size_t kSteps = 1U << 18U;

struct Work {
  double flops;
  float used;
};

#if defined(__x86_64__)
__attribute__((target("avx512f"))) Work multiply_add_512() {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.001F);
  for (std::size_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  }
  float used = 0;
  for (int i = 0; i < kChains; ++i) used += _mm512_cvtss_f32(sums[i]);
  return {2.0 * 16 * kChains * static_cast<double>(kSteps), used};
}

__attribute__((target("avx2,fma"))) Work multiply_add_256() {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.001F);
  for (std::size_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  }
  float used = 0;
  for (int i = 0; i < kChains; ++i) used += _mm256_cvtss_f32(sums[i]);
  return {2.0 * 8 * kChains * static_cast<double>(kSteps), used};
}
#endif

Work multiply_add_128() {
  using Vector = float __attribute__((vector_size(16)));
  Vector sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = Vector{} + static_cast<float>(i);
  for (std::size_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * 0.999F + 0.001F;
  }
  float used = 0;
  for (int i = 0; i < kChains; ++i) used += sums[i][0];
  return {2.0 * 4 * kChains * static_cast<double>(kSteps), used};
}

Work multiply_add() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_add_512();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_add_256();
#endif
  return multiply_add_128();
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

}  // namespace

std::string cpu_name() {
  const std::string name = cpuinfo_field("model name");
  return name.empty() ? "unknown CPU" : name;
}

std::vector<std::string> cpu_features() {
  constexpr const char* kKnown[] = {"sse4_2",      "avx",      "avx2",         "fma",         "f16c",      "avx512f",
                                    "avx512bw",    "avx512vl", "avx512_vnni",  "avx512_bf16", "avx512_fp16", "avx_vnni",
                                    "amx_tile",    "amx_int8", "amx_bf16",     "asimd",       "asimddp",   "bf16",
                                    "i8mm",        "sve"};
  std::string flags = cpuinfo_field("flags");
  if (flags.empty()) flags = cpuinfo_field("Features");
  std::istringstream words(flags);
  std::vector<std::string> found;
  for (std::string word; words >> word;) {
    if (std::find(std::begin(kKnown), std::end(kKnown), word) != std::end(kKnown)) found.push_back(word);
  }
  return found;
}

double fma_peak_gflops(Executor& executor) {
  constexpr int kTries = 8;
  const std::size_t threads = executor.threads();
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::vector<Work> work(threads);
    const auto begin = Clock::now();
    executor.run(threads, [&](std::size_t thread) { work[thread] = multiply_add(); });
    const double seconds = seconds_since(begin);
    double flops = 0;
    for (const Work& done : work) flops += done.used != 0.0F ? done.flops : 0;
    best = std::max(best, flops / seconds * 1e-9);
  }
  return best;
}

double read_gb_s(Executor& executor) {
  constexpr std::size_t kWords = (std::size_t{128} << 20) / sizeof(std::uint64_t);
  constexpr int kTries = 5;
  const std::vector<std::uint64_t> memory(kWords, 1);
  const std::size_t threads = executor.threads();
  const std::size_t share = kWords / threads;
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::uint64_t> sums(threads);
    const auto begin = Clock::now();
    executor.run(threads, [&](std::size_t thread) {
      const std::uint64_t* first = memory.data() + thread * share;
      sums[thread] = std::accumulate(first, first + share, std::uint64_t{0});
    });
    const double seconds = seconds_since(begin);
    const std::uint64_t words = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    best = std::max(best, static_cast<double>(words * sizeof(std::uint64_t)) / seconds * 1e-9);
  }
  return best;
}

double peak_rss_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

}  // namespace mha::cli
