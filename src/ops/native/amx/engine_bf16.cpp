#include <algorithm>

#include "ops/cpu.hpp"
#include "ops/native/engines.hpp"
#include "ops/native/tiled/layouts.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/amx/engine_bf16.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/amx/decode-inl.hpp"
#include "ops/native/amx/panel-inl.hpp"

#if HWY_TARGET == HWY_AVX3
#define MHA_HAS_AMX_BF16 1
namespace mha::native {
namespace level = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_BF16
namespace {

/// Products of bfloat16 parts on tiles. One part: operands are rounded. Two and three: each operand is a sum of that
/// many parts, and the products that matter are summed (Henry, Tang & Heinecke 2019, "Leveraging the bfloat16 … data
/// type for higher-precision computation"): three products of two parts, six of three. Weights of `WeightParts` parts.
template <std::size_t Parts, std::size_t WeightParts>
class ProductEngine : public Engine {
 public:
  std::string_view name() const override {
    return Parts == 1   ? "AMX tiles"
           : Parts == 2 ? "three bf16 products on AMX tiles"
                        : "six bf16 products on AMX tiles";
  }
  const Layout& layout() const override { return layout_; }
  void begin() const override { level::BeginTiles(); }
  void end() const override { level::EndTiles(); }

  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch next) const override {
    level::MultiplyBlock<Products, level::kStreamsRows<Products>>(product(call, tiles(call), sums, accumulate),
                                                                  sums.rows, next);
  }
  std::size_t sum_blocks() const override { return level::kSumBlocks; }
  void multiply_panel(const PanelCall& call, const Epilogue& epilogue, float* sums, PendingBlock& pending,
                      Prefetch next) const override {
    PanelCall ready = call;
    ready.decoded = tiles(call);
    level::MultiplyPanel<Products, Parts, false>(*this, ready, epilogue, sums, pending, next);
  }

 protected:
  using Products = level::PartProducts<Parts, WeightParts>;
  explicit ProductEngine(const Layout& layout) : layout_(layout) {}
  virtual const std::byte* tiles(const PanelCall& call) const = 0;
  static level::TileProduct product(const PanelCall& call, const std::byte* weights, const SumBlock& sums,
                                    bool accumulate) {
    return {call.operand.data + sums.row / level::kBlock * call.operand.stride,
            weights,
            call.steps(),
            sums.data,
            sums.stride,
            accumulate};
  }

 private:
  const Layout& layout_;
};

/// Weights in as many parts as operands.
template <std::size_t Parts>
class TileEngine final : public ProductEngine<Parts, Parts> {
 public:
  TileEngine() : ProductEngine<Parts, Parts>(layout_of_parts(Parts)) {}

  std::size_t decoded_bytes(std::size_t steps) const override {
    return Parts == 3 ? std::max<std::size_t>(steps, 2) * level::kPartsBytes<3> : 0;
  }
  void decode_weights(const PanelCall& call, std::byte* scratch) const override {
    if (Parts == 3) level::DecodeSteps(stored_weights(call), call.steps(), scratch);
  }

  void decode_and_multiply(const PanelCall& call, std::byte* scratch, const SumBlock& sums,
                           bool accumulate) const override {
    const level::TileProduct product = this->product(call, stored_weights(call), sums, accumulate);
    if (Parts == 3) {
      level::DecodeAndMultiply(product, sums.rows, scratch);
    } else {
      level::MultiplyBlock<level::PartProducts<Parts>>(product, sums.rows, {});
    }
  }

 protected:
  const std::byte* tiles(const PanelCall& call) const override {
    return Parts == 3 ? call.decoded : stored_weights(call);
  }
};

/// Weights that are codes in their file. Three products do what six do for other weights, from a quarter of the memory.
template <std::size_t Parts>
class CodeTileEngine final : public ProductEngine<Parts, 1> {
 public:
  CodeTileEngine() : ProductEngine<Parts, 1>(layout_of_code_weights(Parts)) {}

  std::size_t decoded_bytes(std::size_t steps) const override { return steps * level::kPartsBytes<1>; }
  void decode_weights(const PanelCall& call, std::byte* scratch) const override {
    level::DecodeCodes(stored_weights(call), call.steps(), scratch);
  }

 protected:
  const std::byte* tiles(const PanelCall& call) const override { return call.decoded; }
};

template <class Kind>
const Engine* if_supported() {
  if (!cpu_features().amx_bf16) return nullptr;
  static const Kind engine;
  return &engine;
}

}  // namespace

const Engine* engine_bf16_amx() { return if_supported<TileEngine<1>>(); }
const Engine* engine_bf16x3_amx() { return if_supported<TileEngine<2>>(); }
const Engine* engine_bf16x6_amx() { return if_supported<TileEngine<3>>(); }
const Engine* engine_codes_bf16_amx() { return if_supported<CodeTileEngine<1>>(); }
const Engine* engine_codes_bf16x3_amx() { return if_supported<CodeTileEngine<2>>(); }
const Engine* engine_codes_bf16x6_amx() { return if_supported<CodeTileEngine<3>>(); }

#else

const Engine* engine_bf16_amx() { return nullptr; }
const Engine* engine_bf16x3_amx() { return nullptr; }
const Engine* engine_bf16x6_amx() { return nullptr; }
const Engine* engine_codes_bf16_amx() { return nullptr; }
const Engine* engine_codes_bf16x3_amx() { return nullptr; }
const Engine* engine_codes_bf16x6_amx() { return nullptr; }

#endif

}  // namespace mha::native
#endif
