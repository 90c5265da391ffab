#include "ops/cpu.hpp"
#include "ops/native/engines.hpp"
#include "ops/native/tiled/layouts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/avx512/engine_bf16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#define MHA_BEFORE_DOT MHA_BEFORE_AVX512_BF16
#include "ops/native/avx512/dot-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_DOT();
namespace mha {
namespace HWY_NAMESPACE {

/// Pairs of bfloat16, summed in float32.
struct PairDot {
  static HWY_INLINE __m512i add(__m512i sums, __m512i x, __m512i weights) {
#ifdef __clang__
    // Clang 16 crashes on a broadcast of bfloat16 pairs: it must not see that x is one.
    asm("" : "+v"(x));
#endif
    return _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sums), reinterpret_cast<__m512bh>(x),
                                                reinterpret_cast<__m512bh>(weights)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AVX512_BF16 1
namespace mha::native {
namespace level = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AVX512_BF16
namespace {

/// Pairs of bfloat16 by AVX512_BF16.
class PairEngine final : public Engine {
 public:
  std::string_view name() const override { return "AVX512_BF16 dot products"; }
  const Layout& layout() const override { return layout_; }
  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch) const override {
    const std::byte* rows = call.operand.data + sums.row / level::kBlock * call.operand.stride;
    level::DotBlock<level::PairDot>({rows, stored_weights(call), call.steps(), sums.data, sums.stride, accumulate},
                                    sums.rows);
  }

 private:
  const Layout& layout_ = layout_of_parts(1);
};

}  // namespace

const Engine* engine_bf16_pairs() {
  if (!cpu_features().avx512_bf16) return nullptr;
  static const PairEngine engine;
  return &engine;
}

#else

const Engine* engine_bf16_pairs() { return nullptr; }

#endif

}  // namespace mha::native
#endif
