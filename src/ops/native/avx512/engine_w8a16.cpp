#include "ops/cpu.hpp"
#include "ops/native/codes/layouts.hpp"
#include "ops/native/engines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/avx512/engine_w8a16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#define MHA_BEFORE_CODES MHA_BEFORE_AVX512_VNNI
#define MHA_CODES_TARGET HWY_AVX3
#include "ops/native/codes/dot-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_CODES();
namespace mha {
namespace HWY_NAMESPACE {

/// Pairs of 16-bit elements.
struct Avx512VnniPairDot {
  using Weights = hn::Vec<I32>;
  using Element = std::int16_t;
  static constexpr std::size_t kGroup = 2;

  static HWY_INLINE Weights load(const std::int8_t* weights) {
    return Weights{_mm512_cvtepi8_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(weights)))};
  }
  static HWY_INLINE hn::Vec<I32> add(hn::Vec<I32> sums, hn::Vec<I32> x, Weights weights) {
    return hn::Vec<I32>{_mm512_dpwssd_epi32(sums.raw, x.raw, weights.raw)};
  }
};

void MultiplyPairsByAvx512Vnni(const CodeProduct& product) { MultiplyCodes<Avx512VnniPairDot>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AVX512_VNNI_PAIRS 1
namespace mha::native {
namespace avx512_vnni = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AVX512_VNNI_PAIRS

const Engine* engine_w8a16_avx512_vnni() {
  if (!cpu_features().avx512_vnni) return nullptr;
  static const CodeEngine engine("AVX512_VNNI dot products of 16 bits", layout_of_wide_code_pairs(),
                                 avx512_vnni::MultiplyPairsByAvx512Vnni);
  return &engine;
}

#else

const Engine* engine_w8a16_avx512_vnni() { return nullptr; }

#endif

}  // namespace mha::native
#endif
