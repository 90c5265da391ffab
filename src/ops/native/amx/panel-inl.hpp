// A panel of weights times all rows on tiles, with the epilogues in between.
#if defined(MHA_OPS_NATIVE_PANEL_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_PANEL_INL_HPP
#undef MHA_OPS_NATIVE_PANEL_INL_HPP
#else
#define MHA_OPS_NATIVE_PANEL_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "hwy/highway.h"
#include "ops/native/amx/tiles-inl.hpp"
#include "ops/native/epilogue-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AMX();
namespace mha {
namespace HWY_NAMESPACE {

/// Where a full block of sums ends.
enum class End { rows, rows_with_residual, operand };

/// The epilogue of a full block of sums, two rows of two vectors at a time, with the bits of `Engine::apply`. What each
/// row needs is in registers.
template <std::size_t Parts, bool Codes, End kEnd, class Function>
class FullBlock {
 public:
  static constexpr std::size_t kPairs = kBlock / 2;

  HWY_INLINE FullBlock(const native::PendingBlock& block, const Function& function)
      : function_(function), sums_(block.sums.data) {
    const native::Epilogue& epilogue = block.epilogue;
    const std::size_t row = block.sums.row;
    left_ = column(epilogue, 0);
    right_ = column(epilogue, kTileRows);
    if (Codes) codes_ = epilogue.codes + row;
    if (kEnd == End::operand) {
      to_operand_ = TiledAt<Parts>(epilogue.operand, row, epilogue.column);
    } else {
      to_ = epilogue.y + row * epilogue.y_stride;
      stride_ = epilogue.y_stride;
    }
    if (kEnd == End::rows_with_residual) {
      residual_ = epilogue.residual + row * epilogue.residual_stride;
      residual_stride_ = epilogue.residual_stride;
    }
  }

  HWY_INLINE void apply(std::size_t pair) const {
    const F32 d;
    const std::size_t row = 2 * pair;
    const float* from = sums_ + row * kPanel;
    Wide x{scaled_and_biased(from, row, left_), scaled_and_biased(from + kTileRows, row, right_),
           scaled_and_biased(from + kPanel, row + 1, left_),
           scaled_and_biased(from + kPanel + kTileRows, row + 1, right_)};
    x = function_(WideF32(), x);
    if constexpr (kEnd == End::operand) {
      std::byte* to = to_operand_ + row * kTileRow;
      StoreParts<Parts>(x.v[0].raw, to);
      StoreParts<Parts>(x.v[1].raw, to + kTileRow / 2);
      StoreParts<Parts>(x.v[2].raw, to + kTileRow);
      StoreParts<Parts>(x.v[3].raw, to + kTileRow + kTileRow / 2);
    } else {
      if constexpr (kEnd == End::rows_with_residual) {
        const float* residual = residual_ + row * residual_stride_;
        const float* below = residual + residual_stride_;
        x = Add(x, {hn::LoadU(d, residual), hn::LoadU(d, residual + kTileRows), hn::LoadU(d, below),
                    hn::LoadU(d, below + kTileRows)});
      }
      float* to = to_ + row * stride_;
      hn::StoreU(x.v[0], d, to);
      hn::StoreU(x.v[1], d, to + kTileRows);
      hn::StoreU(x.v[2], d, to + stride_);
      hn::StoreU(x.v[3], d, to + stride_ + kTileRows);
    }
  }

 private:
  /// Of 16 columns.
  struct Column {
    V32 bias;
    V32 scale;
    __m512i code_sums;
  };
  static HWY_INLINE Column column(const native::Epilogue& epilogue, std::size_t at) {
    return {hn::LoadU(F32(), epilogue.bias + at),
            epilogue.scale == nullptr ? hn::Set(F32(), 1.0F) : hn::LoadU(F32(), epilogue.scale + at),
            Codes ? _mm512_loadu_si512(epilogue.code_sums + at) : _mm512_setzero_si512()};
  }
  HWY_INLINE V32 scaled_and_biased(const float* from, std::size_t row, const Column& of) const {
    if constexpr (Codes) {
      const native::RowCode& code = codes_[row];
      const __m512i zeros = _mm512_mullo_epi32(_mm512_set1_epi32(code.zero), of.code_sums);
      const V32 sum{_mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(from), zeros))};
      return hn::MulAdd(sum, hn::Mul(hn::Set(F32(), code.step), of.scale), of.bias);
    } else {
      // Times 1 changes nothing.
      return hn::MulAdd(hn::Load(F32(), from), of.scale, of.bias);
    }
  }

  Function function_;
  const float* sums_;
  Column left_;
  Column right_;
  const native::RowCode* codes_ = nullptr;
  float* to_ = nullptr;
  std::byte* to_operand_ = nullptr;
  std::size_t stride_ = 0;
  const float* residual_ = nullptr;
  std::size_t residual_stride_ = 0;
};

/// Whether `MultiplyAndApply` can finish the block.
inline bool IsFullBlock(const native::PendingBlock& block) {
  const native::Epilogue& epilogue = block.epilogue;
  return block.sums.rows == kBlock && epilogue.cols == kPanel &&
         (epilogue.residual == nullptr || epilogue.activation == Activation::none);
}

/// Multiplies a full block while the epilogue of the full block before it runs, a few rows after each step: an epilogue
/// that waited for the tiles would leave both idle in turns.
template <class Products, std::size_t Parts, bool Codes>
void MultiplyAndApply(const TileProduct& product, native::Prefetch next, const native::PendingBlock& before) {
  const native::Epilogue& epilogue = before.epilogue;
  const auto run = [&](auto end, const auto& function) __attribute__((always_inline)) {
    using Block = FullBlock<Parts, Codes, decltype(end)::value, std::decay_t<decltype(function)>>;
    const Block block(before, function);
    MultiplyTiles<Products, true, kStreamsRows<Products>, Block::kPairs>(
        product, next, [block](std::size_t pair) __attribute__((always_inline)) { block.apply(pair); });
  };
  if (epilogue.residual != nullptr) {
    return run(std::integral_constant<End, End::rows_with_residual>(), IdentityFunction());
  }
  WithActivation(epilogue.activation, allows_coarse_activation(epilogue), [&](const auto& function) {
    if constexpr (!Codes) {
      if (epilogue.y == nullptr) return run(std::integral_constant<End, End::operand>(), function);
    }
    run(std::integral_constant<End, End::rows>(), function);
  });
}

/// Steps that are multiplied at a time by all rows of a group of blocks: their weights stay in the first-level cache,
/// beside the sums of the group. Deeper products come back to their sums.
constexpr std::size_t kWholeDepth = 16;
constexpr std::size_t kDepthRun = 8;
constexpr std::size_t kBlocksTogether = 4;
/// Two groups: one is multiplied while the last block of the other is pending.
constexpr std::size_t kSumBlocks = 2 * kBlocksTogether;

/// All rows of the call times its panel, whose weights are call.decoded.
template <class Products, std::size_t Parts, bool Codes>
void MultiplyPanel(const native::Engine& engine, const native::PanelCall& call, const native::Epilogue& epilogue,
                   float* sums, native::PendingBlock& pending, native::Prefetch next) {
  constexpr std::size_t kSums = kBlock * kPanel;
  const std::size_t steps = call.steps();
  const std::size_t run = kStreamsRows<Products> && steps > kWholeDepth ? kDepthRun : steps;
  const std::size_t runs = divide_up(steps, run);
  const std::size_t blocks = divide_up(call.rows, kBlock);
  const std::size_t together = runs > 1 ? kBlocksTogether : 1;
  native::PrefetchShares shares(next, blocks * runs);
  for (std::size_t group = 0; group < blocks; group += together) {
    const bool lower_half_pends = pending.sums.rows > 0 && pending.sums.data < sums + together * kSums;
    float* group_sums = sums + (lower_half_pends ? together * kSums : 0);
    const std::size_t group_end = std::min(group + together, blocks);
    for (std::size_t first = 0; first < steps; first += run) {
      const std::size_t count = std::min(run, steps - first);
      const bool last = first + count == steps;
      for (std::size_t block = group; block < group_end; ++block) {
        const std::size_t rows = std::min(kBlock, call.rows - block * kBlock);
        const TileProduct product{call.operand.data + block * call.operand.stride + first * Products::kRowBytes,
                                  call.decoded + first * Products::kWeightBytes,
                                  count,
                                  group_sums + (block - group) * kSums,
                                  kPanel,
                                  first > 0};
        if (last && rows > kTileRows && pending.sums.rows > 0 && IsFullBlock(pending)) {
          MultiplyAndApply<Products, Parts, Codes>(product, shares.take(), pending);
        } else {
          if (last) engine.apply(pending);
          MultiplyBlock<Products, kStreamsRows<Products>>(product, rows, shares.take());
        }
        if (last) pending = {{product.sums, kPanel, block * kBlock, rows}, epilogue};
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
