#include "ops/cpu.hpp"
#include "ops/native/engines.hpp"
#include "ops/native/tiled/layouts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/amx/engine_int8.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/amx/panel-inl.hpp"

#if HWY_TARGET == HWY_AVX3
#define MHA_HAS_AMX_INT8 1
namespace mha::native {
namespace level = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_INT8
namespace {

/// Codes on both sides, summed in int32 on tiles.
class CodeTileEngine final : public Engine {
 public:
  std::string_view name() const override { return "AMX tiles"; }
  const Layout& layout() const override { return layout_; }
  void begin() const override { level::BeginTiles(); }
  void end() const override { level::EndTiles(); }

  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch next) const override {
    const std::byte* rows = call.operand.data + sums.row / level::kBlock * call.operand.stride;
    level::MultiplyBlock<level::CodeProducts>(
        {rows, stored_weights(call), call.steps(), sums.data, sums.stride, accumulate}, sums.rows, next);
  }
  std::size_t sum_blocks() const override { return level::kSumBlocks; }
  void multiply_panel(const PanelCall& call, const Epilogue& epilogue, float* sums, PendingBlock& pending,
                      Prefetch next) const override {
    PanelCall ready = call;
    ready.decoded = stored_weights(call);
    level::MultiplyPanel<level::CodeProducts, 1, true>(*this, ready, epilogue, sums, pending, next);
  }

 private:
  const Layout& layout_ = layout_of_codes();
};

}  // namespace

const Engine* engine_int8_amx() {
  if (!cpu_features().amx_int8) return nullptr;
  static const CodeTileEngine engine;
  return &engine;
}

#else

const Engine* engine_int8_amx() { return nullptr; }

#endif

}  // namespace mha::native
#endif
