#include <algorithm>
#include <cstring>

#include "mha/core/numbers.hpp"
#include "ops/backend/native/engine.hpp"
#include "ops/cpu.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/backend/native/engine_amx.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/backend/native/tail-inl.hpp"
#include "ops/backend/native/tiles-inl.hpp"

// Compiled for AVX-512 with AMX; runs only where `cpu_features` says so.
#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
#pragma GCC push_options
#pragma GCC target("avx512bf16,amx-tile,amx-bf16,amx-int8")
namespace mha {
namespace HWY_NAMESPACE {

template <std::size_t Parts>
void FinishToParts(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const native::BlockTail& tail,
                   const native::Operand& operand, std::size_t row, std::size_t column) {
  std::byte* to = TiledAt<Parts>(operand, row, column);
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    FinishVectors(sums, stride, rows, cols, tail, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t) {
      StoreParts<Parts>(value.raw, to + r * kTileRow + c * sizeof(std::uint16_t));
    });
  });
}

/// Middle and low parts of weights that are kept as a high tile (bf16, rounded to nearest) and a tile of the lower
/// 16 bits of the same float32: value bits = (high << 16) + lower, lower taken as signed.
/// Steps are stored as [2 high tiles][2 tiles of lower bits] and unfolded to [high][middle][low], two tiles each.
HWY_INLINE void ExpandStep(const std::byte* stored, std::byte* unfolded) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  const __m512i upper_mask = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m512i half = _mm512_set1_epi32(0x8000);
  const auto split = [&](__m512i high, __m512i rest, __m512i& middle_bits, __m512i& low_bits) {
    const __m512 value = _mm512_castsi512_ps(_mm512_add_epi32(high, rest));
    const __m512 below = _mm512_sub_ps(value, _mm512_castsi512_ps(high));
    middle_bits = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(below), half), upper_mask);
    low_bits = _mm512_castps_si512(_mm512_sub_ps(below, _mm512_castsi512_ps(middle_bits)));
  };
  for (std::size_t row = 0; row < kPart; row += kTileRow) {
    const __m512i high = _mm512_load_si512(stored + row);
    const __m512i rest = _mm512_load_si512(stored + kPart + row);
    __m512i even_middle;
    __m512i even_low;
    __m512i odd_middle;
    __m512i odd_low;
    split(_mm512_slli_epi32(high, 16), _mm512_srai_epi32(_mm512_slli_epi32(rest, 16), 16), even_middle, even_low);
    split(_mm512_and_si512(high, upper_mask), _mm512_srai_epi32(rest, 16), odd_middle, odd_low);
    _mm512_store_si512(unfolded + row, high);
    _mm512_store_si512(unfolded + kPart + row, _mm512_or_si512(_mm512_srli_epi32(even_middle, 16), odd_middle));
    // The low part has at most eight significant bits: its lower half is zero.
    _mm512_store_si512(unfolded + 2 * kPart + row, _mm512_or_si512(_mm512_srli_epi32(even_low, 16), odd_low));
  }
}

void ExpandSteps(const std::byte* stored, std::size_t steps, std::byte* unfolded) {
  for (std::size_t s = 0; s < steps; ++s) ExpandStep(stored + s * kPartsBytes<2>, unfolded + s * kPartsBytes<3>);
}

/// Unfolds a step while the one before is multiplied: vector units and tiles work side by side, and what is unfolded
/// stays in the first-level cache. `scratch` holds two steps.
template <bool Two>
HWY_INLINE void ExpandAndMultiplyTiles(const std::byte* rows, const std::byte* stored, std::size_t steps, std::byte* scratch,
                                       float* sums, std::size_t sums_stride, bool accumulate) {
  constexpr std::size_t kAheadSteps = 6;
  OpenSums<Two>(sums, sums_stride, accumulate);
  ExpandStep(stored, scratch);
  for (std::size_t s = 0; s < steps; ++s) {
    Prefetch(stored + (s + kAheadSteps) * kPartsBytes<2>, kPartsBytes<2>);
    if (s + 1 < steps) ExpandStep(stored + (s + 1) * kPartsBytes<2>, scratch + (s + 1) % 2 * kPartsBytes<3>);
    MemoryBarrier();
    MultiplyStep<3, Two>(rows + s * kPartsBytes<3>, scratch + s % 2 * kPartsBytes<3>);
    MemoryBarrier();
  }
  CloseSums<Two>(sums, sums_stride);
}

void ExpandAndMultiply(const std::byte* rows, const std::byte* stored, std::size_t steps, std::byte* scratch, float* sums,
                       std::size_t sums_stride, bool accumulate, std::size_t count) {
  if (count > kTileRows) {
    ExpandAndMultiplyTiles<true>(rows, stored, steps, scratch, sums, sums_stride, accumulate);
  } else {
    ExpandAndMultiplyTiles<false>(rows, stored, steps, scratch, sums, sums_stride, accumulate);
  }
}

/// int8: sums of codes, then times the steps of row and column.
template <bool Two>
HWY_INLINE void MultiplyCodes(const std::byte* rows, const std::byte* weights, std::size_t steps, float* sums,
                              std::size_t sums_stride) {
  OpenSums<Two>(sums, sums_stride, false);
  for (std::size_t s = 0; s < steps; ++s, rows += 2 * kTileBytes, weights += 2 * kTileBytes) {
    LoadRows<Two>(rows);
    LoadWeights(weights);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if (Two) {
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  CloseSums<Two>(sums, sums_stride);
}

void MultiplyCodesBlock(const std::byte* rows, const float* row_steps, const std::byte* weights, const float* scale,
                        std::size_t steps, float* sums, std::size_t sums_stride, std::size_t count) {
  if (count > kTileRows) {
    MultiplyCodes<true>(rows, weights, steps, sums, sums_stride);
  } else {
    MultiplyCodes<false>(rows, weights, steps, sums, sums_stride);
  }
  const __m512 left_scale = _mm512_loadu_ps(scale);
  const __m512 right_scale = _mm512_loadu_ps(scale + kTileRows);
  for (std::size_t r = 0; r < count; ++r) {
    float* line = sums + r * sums_stride / sizeof(float);
    const __m512 step = _mm512_set1_ps(row_steps[r]);
    const __m512 left = _mm512_cvtepi32_ps(_mm512_loadu_si512(line));
    const __m512 right = _mm512_cvtepi32_ps(_mm512_loadu_si512(line + kTileRows));
    _mm512_storeu_ps(line, _mm512_mul_ps(left, _mm512_mul_ps(step, left_scale)));
    _mm512_storeu_ps(line + kTileRows, _mm512_mul_ps(right, _mm512_mul_ps(step, right_scale)));
  }
}

/// Rows as codes of one step a row, into tiles of 16 rows × 64 columns.
void ConvertCodes(ConstMatrix x, const native::Operand& operand, std::size_t cols) {
  constexpr std::size_t kLanes = 16;
  constexpr float kLargestCode = 127.0F;
  // Below this the inverse of the step is infinite, and the row is zero for any purpose.
  constexpr float kSmallest = 1e-36F;
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* from = x.row(r);
    __m512 largest = _mm512_setzero_ps();
    __m512 nan_keeper = _mm512_setzero_ps();
    const auto load = [&](std::size_t c) {
      const std::size_t left = x.cols > c ? x.cols - c : 0;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFFU : (1U << left) - 1U);
      return _mm512_maskz_loadu_ps(mask, from + c);
    };
    for (std::size_t c = 0; c < x.cols; c += kLanes) {
      const __m512 value = load(c);
      largest = _mm512_max_ps(largest, _mm512_abs_ps(value));
      nan_keeper = _mm512_fmadd_ps(value, _mm512_setzero_ps(), nan_keeper);
    }
    // A row with NaN or infinity has a step that is not finite, so that its results are not either.
    const float top = _mm512_reduce_max_ps(largest) + _mm512_reduce_add_ps(nan_keeper);
    const bool zero = top <= kSmallest;
    operand.row_step[r] = zero ? 0.0F : top / kLargestCode;
    const __m512 inverse = _mm512_set1_ps(zero ? 0.0F : kLargestCode / top);
    std::byte* to = operand.data + r / kBlock * operand.stride + r % kBlock * kTileRow;
    for (std::size_t c = 0; c < cols; c += kLanes) {
      const __m512i codes = _mm512_cvtps_epi32(_mm512_mul_ps(load(c), inverse));
      std::byte* at = to + c / kTileRow * 2 * kTileBytes + c % kTileRow;
      _mm_store_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtsepi32_epi8(codes));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
#pragma GCC pop_options
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AMX_KERNELS 1
namespace mha::native {
namespace amx = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_KERNELS
namespace {

/// bfloat16 tiles. One plane: operands rounded. Two and three: each operand is a sum of that many parts, and the
/// products that matter are summed (Henry, Tang & Heinecke 2019, "Leveraging the bfloat16 … data type for higher-precision
/// computation"): three products of two parts, six of three.
template <std::size_t Parts>
class TileEngine final : public Engine {
 public:
  std::string_view name() const override {
    return Parts == 1 ? "AMX tiles" : Parts == 2 ? "three bf16 products on AMX tiles" : "six bf16 products on AMX tiles";
  }
  std::size_t panel() const override { return amx::kPanel; }
  std::size_t row_block() const override { return amx::kBlock; }
  std::size_t step() const override { return 32; }
  bool coarse() const override { return Parts == 1; }
  bool splits_depth() const override { return true; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * kStepBytes; }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override {
    return rows / amx::kBlock * operand_stride(cols);
  }
  std::size_t operand_stride(std::size_t cols) const override {
    return (cols + step() - 1) / step() * amx::kPartsBytes<Parts>;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->precision = Parts == 1 ? Precision::bf16 : Parts == 2 ? Precision::bf16x3 : Precision::bf16x6;
    packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
    packed->steps = (weights.in() + step() - 1) / step();
    packed->panel_bytes = packed->steps * kStepBytes;
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    const std::size_t depth = packed->steps * step();
    FloatBuffer row(depth);
    for (std::size_t p = 0; p < packed->panels; ++p) {
      for (std::size_t c = 0; c < amx::kPanel; ++c) {
        std::fill(row.data(), row.data() + depth, 0.0F);
        if (p * amx::kPanel + c < weights.out()) weights.row(p * amx::kPanel + c, row.data());
        std::byte* tile = packed->data.data() + p * packed->panel_bytes + c / 16 * amx::kTileBytes + c % 16 * sizeof(std::uint32_t);
        for (std::size_t s = 0; s < packed->steps; ++s, tile += kStepBytes) {
          for (std::size_t pair = 0; pair < amx::kTileRows; ++pair) {
            put_pair(row.data() + s * step() + 2 * pair, tile + pair * amx::kTileRow);
          }
        }
      }
    }
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
    return packed;
  }

  void convert(ConstMatrix x, const Operand& operand) const override {
    amx::ConvertRows<Parts>(x, operand, (x.cols + step() - 1) / step() * step());
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  std::size_t expanded_bytes(std::size_t steps) const override { return Parts == 3 ? (steps + 1) * amx::kPartsBytes<3> : 0; }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    if (Parts == 3) amx::ExpandSteps(weights.panel(panel_index) + first * kStepBytes, last - first, scratch);
  }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last, const std::byte* expanded,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead ahead) const override {
    const std::byte* tiles = Parts == 3 ? expanded : weights.panel(panel_index) + first * kStepBytes;
    amx::MultiplyBlock<Parts>(operand.data + row / amx::kBlock * operand.stride, tiles, last - first, sums,
                               stride * sizeof(float), accumulate, rows, ahead);
  }

  void expand_and_multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           std::byte* scratch, const Operand& operand, std::size_t rows, float* sums, std::size_t stride,
                           bool accumulate) const override {
    const std::byte* stored = weights.panel(panel_index) + first * kStepBytes;
    if (Parts == 3) {
      amx::ExpandAndMultiply(operand.data, stored, last - first, scratch, sums, stride * sizeof(float), accumulate, rows);
    } else {
      amx::MultiplyBlock<Parts>(operand.data, stored, last - first, sums, stride * sizeof(float), accumulate, rows, {});
    }
  }

  void finish_to_operand(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const BlockTail& tail,
                         const Operand& operand, std::size_t row, std::size_t column) const override {
    amx::FinishToParts<Parts>(sums, stride, rows, cols, tail, operand, row, column);
  }

 private:
  /// One step of a panel: two tiles a stored part. Three planes are kept in the four bytes of the float32.
  static constexpr std::size_t kStepBytes = (Parts == 1 ? 2 : 4) * amx::kTileBytes;

  static void put_pair(const float* pair, std::byte* to) {
    std::uint16_t high[2];
    std::uint16_t rest[2];
    for (std::size_t i = 0; i < 2; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, pair + i, sizeof bits);
      if (Parts == 3) {
        high[i] = static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
        rest[i] = static_cast<std::uint16_t>(bits);
      } else {
        high[i] = bf16_from_float(pair[i]);
        if (Parts == 2) rest[i] = bf16_from_float(pair[i] - float_from_bf16(high[i]));
      }
    }
    std::memcpy(to, high, sizeof high);
    if (Parts > 1) std::memcpy(to + 2 * amx::kTileBytes, rest, sizeof rest);
  }
};

class CodeEngine final : public Engine {
 public:
  std::string_view name() const override { return "AMX tiles"; }
  std::size_t panel() const override { return amx::kPanel; }
  std::size_t row_block() const override { return amx::kBlock; }
  std::size_t step() const override { return 64; }
  bool coarse() const override { return true; }
  bool splits_depth() const override { return false; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * 2 * amx::kTileBytes; }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override {
    return rows / amx::kBlock * operand_stride(cols);
  }
  std::size_t operand_stride(std::size_t cols) const override { return (cols + step() - 1) / step() * 2 * amx::kTileBytes; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->precision = Precision::int8;
    packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
    packed->steps = (weights.in() + step() - 1) / step();
    packed->panel_bytes = packed->steps * 2 * amx::kTileBytes;
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    packed->scale.resize(packed->panels * amx::kPanel, 0.0F);
    const std::size_t depth = packed->steps * step();
    std::vector<std::int8_t> codes(depth);
    for (std::size_t p = 0; p < packed->panels; ++p) {
      for (std::size_t c = 0; c < amx::kPanel; ++c) {
        const std::size_t column = p * amx::kPanel + c;
        std::fill(codes.begin(), codes.end(), std::int8_t{0});
        if (column < weights.out()) packed->scale[column] = weights.codes(column, codes.data());
        std::byte* tile = packed->data.data() + p * packed->panel_bytes + c / 16 * amx::kTileBytes + c % 16 * 4;
        for (std::size_t s = 0; s < packed->steps; ++s, tile += 2 * amx::kTileBytes) {
          for (std::size_t quad = 0; quad < amx::kTileRows; ++quad) {
            std::memcpy(tile + quad * amx::kTileRow, codes.data() + s * step() + 4 * quad, 4);
          }
        }
      }
    }
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
    return packed;
  }

  void convert(ConstMatrix x, const Operand& operand) const override {
    amx::ConvertCodes(x, operand, (x.cols + step() - 1) / step() * step());
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t, std::size_t, const std::byte*,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride, bool,
                Ahead) const override {
    amx::MultiplyCodesBlock(operand.data + row / amx::kBlock * operand.stride, operand.row_step + row,
                            weights.panel(panel_index), weights.scale.data() + panel_index * amx::kPanel, weights.steps, sums,
                            stride * sizeof(float), rows);
  }

  void finish_to_operand(const float*, std::size_t, std::size_t, std::size_t, const BlockTail&, const Operand&, std::size_t,
                         std::size_t) const override {}
};

}  // namespace

const Engine* engine_bf16_amx() {
  static const TileEngine<1> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_bf16x3() {
  static const TileEngine<2> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_bf16x6() {
  static const TileEngine<3> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_int8_amx() {
  static const CodeEngine engine;
  return cpu_features().amx_int8 && cpu_features().avx512_bf16 ? &engine : nullptr;
}

#else

const Engine* engine_bf16_amx() { return nullptr; }
const Engine* engine_bf16x3() { return nullptr; }
const Engine* engine_bf16x6() { return nullptr; }
const Engine* engine_int8_amx() { return nullptr; }

#endif

const Engine* engine_bf16() {
  const Engine* tiles = engine_bf16_amx();
  return tiles != nullptr ? tiles : engine_bf16_by_conversion();
}

const Engine* engine_int8() { return engine_int8_amx(); }

}  // namespace mha::native
#endif
