#include "ops/cpu.hpp"
#include "ops/native/engines.hpp"
#include "ops/native/tiled/layouts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/avx512/engine_int8.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#define MHA_BEFORE_DOT MHA_BEFORE_AVX512_VNNI
#include "ops/native/avx512/dot-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_DOT();
namespace mha {
namespace HWY_NAMESPACE {

/// Quadruples of codes, summed in int32.
struct QuadrupleDot {
  static HWY_INLINE __m512i add(__m512i sums, __m512i x, __m512i weights) {
    return _mm512_dpbusd_epi32(sums, x, weights);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AVX512_VNNI 1
namespace mha::native {
namespace level = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AVX512_VNNI
namespace {

/// Codes on both sides by AVX512_VNNI, with the sums that tiles give.
class QuadrupleEngine final : public Engine {
 public:
  std::string_view name() const override { return "AVX512_VNNI dot products"; }
  const Layout& layout() const override { return layout_; }
  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch) const override {
    const std::byte* rows = call.operand.data + sums.row / level::kBlock * call.operand.stride;
    level::DotBlock<level::QuadrupleDot>({rows, stored_weights(call), call.steps(), sums.data, sums.stride, accumulate},
                                         sums.rows);
  }

 private:
  const Layout& layout_ = layout_of_codes();
};

}  // namespace

const Engine* engine_int8_quadruples() {
  if (!cpu_features().avx512_vnni) return nullptr;
  static const QuadrupleEngine engine;
  return &engine;
}

#else

const Engine* engine_int8_quadruples() { return nullptr; }

#endif

}  // namespace mha::native
#endif
