#include "ops/native/codes/layouts.hpp"
#include "ops/native/engines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/codes/engine_pairs.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#define MHA_BEFORE_CODES HWY_BEFORE_NAMESPACE
#include "ops/native/codes/dot-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
/// Vectors of one lane have no narrower parts: a pair is two numbers.
struct PairDot {
  struct Weights {
    std::int32_t first, second;
  };
  using Element = std::int16_t;
  static constexpr std::size_t kGroup = 2;

  static HWY_INLINE Weights load(const std::int8_t* weights) { return {weights[0], weights[1]}; }
  static HWY_INLINE hn::Vec<I32> add(hn::Vec<I32> sums, hn::Vec<I32> x, Weights weights) {
    std::int16_t pair[2];
    std::memcpy(pair, &x.raw, sizeof pair);
    return hn::Vec<I32>(sums.raw + pair[0] * weights.first + pair[1] * weights.second);
  }
};
#else
/// Pairs of 16-bit elements, whose products no sum of two overflows.
struct PairDot {
  using D16 = hn::Repartition<std::int16_t, I32>;
  using Weights = hn::Vec<D16>;
  using Element = std::int16_t;
  static constexpr std::size_t kGroup = 2;

  static HWY_INLINE Weights load(const std::int8_t* weights) {
    return hn::PromoteTo(D16(), hn::Load(hn::Rebind<std::int8_t, D16>(), weights));
  }
  static HWY_INLINE hn::Vec<I32> add(hn::Vec<I32> sums, hn::Vec<I32> x, Weights weights) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    return hn::Add(sums, hn::Vec<I32>{_mm512_madd_epi16(x.raw, weights.raw)});
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return hn::Add(sums, hn::Vec<I32>{_mm256_madd_epi16(x.raw, weights.raw)});
#elif HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
    return hn::Add(sums, hn::Vec<I32>{_mm_madd_epi16(x.raw, weights.raw)});
#elif HWY_ARCH_ARM_A64
    const auto pairs = hn::BitCast(D16(), x);
    const int32x4_t low = vmull_s16(vget_low_s16(pairs.raw), vget_low_s16(weights.raw));
    return hn::Add(sums, hn::Vec<I32>{vpaddq_s32(low, vmull_high_s16(pairs.raw, weights.raw))});
#else
    const auto first = [](hn::Vec<I32> pair) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(pair)); };
    const auto second = [](hn::Vec<I32> pair) { return hn::ShiftRight<16>(pair); };
    const auto both = hn::BitCast(I32(), weights);
    return hn::Add(sums, hn::Add(hn::Mul(first(x), first(both)), hn::Mul(second(x), second(both))));
#endif
  }
};
#endif

void MultiplyCodePairs(const CodeProduct& product) { MultiplyCodes<PairDot>(product); }

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(MultiplyCodePairs);

namespace native {
namespace {

CodeEngine by_pairs(const Layout& layout) {
  return {"16-bit integer multiply-add", layout, [](const CodeProduct& product) {
            HWY_DYNAMIC_DISPATCH(MultiplyCodePairs)(product);
          }};
}

}  // namespace

const Engine* engine_int8_pairs() {
  static const CodeEngine engine = by_pairs(layout_of_code_pairs());
  return &engine;
}

const Engine* engine_w8a16_pairs() {
  static const CodeEngine engine = by_pairs(layout_of_wide_code_pairs());
  return &engine;
}

}  // namespace native
}  // namespace mha
#endif
