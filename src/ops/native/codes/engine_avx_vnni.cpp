#include "ops/cpu.hpp"
#include "ops/native/codes/layouts.hpp"
#include "ops/native/engines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/codes/engine_avx_vnni.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#define MHA_BEFORE_CODES MHA_BEFORE_AVX_VNNI
#define MHA_CODES_TARGET HWY_AVX2
#include "ops/native/codes/dot-inl.hpp"

#if HWY_TARGET == HWY_AVX2

MHA_BEFORE_CODES();
namespace mha {
namespace HWY_NAMESPACE {

/// Quadruples of codes.
struct AvxVnniDot {
  using Weights = hn::Vec<I32>;
  using Element = std::uint8_t;
  static constexpr std::size_t kGroup = 4;

  static HWY_INLINE Weights load(const std::int8_t* weights) {
    return Weights{_mm256_load_si256(reinterpret_cast<const __m256i*>(weights))};
  }
  static HWY_INLINE hn::Vec<I32> add(hn::Vec<I32> sums, hn::Vec<I32> x, Weights weights) {
    return hn::Vec<I32>{_mm256_dpbusd_avx_epi32(sums.raw, x.raw, weights.raw)};
  }
};

/// Pairs of 16-bit elements.
struct AvxVnniPairDot {
  using Weights = hn::Vec<I32>;
  using Element = std::int16_t;
  static constexpr std::size_t kGroup = 2;

  static HWY_INLINE Weights load(const std::int8_t* weights) {
    return Weights{_mm256_cvtepi8_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(weights)))};
  }
  static HWY_INLINE hn::Vec<I32> add(hn::Vec<I32> sums, hn::Vec<I32> x, Weights weights) {
    return hn::Vec<I32>{_mm256_dpwssd_avx_epi32(sums.raw, x.raw, weights.raw)};
  }
};

void MultiplyByAvxVnni(const CodeProduct& product) { MultiplyCodes<AvxVnniDot>(product); }
void MultiplyPairsByAvxVnni(const CodeProduct& product) { MultiplyCodes<AvxVnniPairDot>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AVX_VNNI 1
namespace mha::native {
namespace avx_vnni = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AVX_VNNI

const Engine* engine_int8_avx_vnni() {
  if (!cpu_features().avx_vnni || cpu_features().avx512) return nullptr;
  static const CodeEngine engine("AVX-VNNI dot products", layout_of_code_quadruples(), avx_vnni::MultiplyByAvxVnni);
  return &engine;
}

const Engine* engine_w8a16_avx_vnni() {
  if (!cpu_features().avx_vnni || cpu_features().avx512) return nullptr;
  static const CodeEngine engine("AVX-VNNI dot products of 16 bits", layout_of_wide_code_pairs(),
                                 avx_vnni::MultiplyPairsByAvxVnni);
  return &engine;
}

#else

const Engine* engine_int8_avx_vnni() { return nullptr; }
const Engine* engine_w8a16_avx_vnni() { return nullptr; }

#endif

}  // namespace mha::native
#endif
