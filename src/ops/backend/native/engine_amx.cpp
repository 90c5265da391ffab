#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

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
#pragma GCC target("avx512bf16,avx512vnni,amx-tile,amx-bf16,amx-int8")
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

/// A full block of sums while the full block before is finished, a few rows after each step: a tail that waited for the tiles
/// would leave both idle in turns.
template <std::size_t Parts, std::size_t WeightParts = Parts>
void MultiplyAndFinish(const std::byte* rows, const std::byte* weights, std::size_t steps, float* sums,
                       std::size_t sums_stride, native::Ahead ahead, const native::Finish& before) {
  constexpr std::size_t kGroups = kBlock / 2;
  const F32 d;
  const native::BlockTail& tail = before.tail;
  std::byte* parts = before.y == nullptr ? TiledAt<Parts>(before.operand, before.row, before.column) : nullptr;
  const std::size_t share = (kGroups + steps - 1) / steps;
  std::size_t done = 0;
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    // Two rows of two vectors.
    const auto finish_group = [&](std::size_t group) {
      const std::size_t row = 2 * group;
      const float* from = before.sums + row * before.stride;
      const float* below = from + before.stride;
      const auto load = [&](const float* at) { return hn::LoadU(d, at); };
      Wide x{{WithBias(tail, from, 0, load), WithBias(tail, from, kTileRows, load), WithBias(tail, below, 0, load),
              WithBias(tail, below, kTileRows, load)}};
      x = function(WideF32(), x);
      if (before.y == nullptr) {
        std::byte* to = parts + row * kTileRow;
        StoreParts<Parts>(x.v[0].raw, to);
        StoreParts<Parts>(x.v[1].raw, to + kTileRow / 2);
        StoreParts<Parts>(x.v[2].raw, to + kTileRow);
        StoreParts<Parts>(x.v[3].raw, to + kTileRow + kTileRow / 2);
        return;
      }
      if (tail.residual != nullptr) {
        const float* residual = tail.residual + row * tail.residual_stride;
        const float* residual_below = residual + tail.residual_stride;
        x = Add(x, {{hn::LoadU(d, residual), hn::LoadU(d, residual + kTileRows), hn::LoadU(d, residual_below),
                     hn::LoadU(d, residual_below + kTileRows)}});
      }
      float* to = before.y + row * before.y_stride;
      hn::StoreU(x.v[0], d, to);
      hn::StoreU(x.v[1], d, to + kTileRows);
      hn::StoreU(x.v[2], d, to + before.y_stride);
      hn::StoreU(x.v[3], d, to + before.y_stride + kTileRows);
    };
    MultiplyTiles<Parts, WeightParts, true, Parts == 1>(rows, weights, steps, sums, sums_stride, false, ahead, [&](std::size_t) {
      for (std::size_t i = 0; i < share && done < kGroups; ++i) finish_group(done++);
    });
  });
}

/// The three parts of weights that are kept as float32, for one step: [2 tiles][16 rows][even, odd input column][16 outputs]
/// becomes [high][middle][low], two tiles each; rows [begin, end) of the 32. Each part is rounded to nearest; what the last one leaves is zero.
HWY_INLINE void ExpandTileRows(const std::byte* stored, std::byte* unfolded, std::size_t begin, std::size_t end) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  const __m512i upper_mask = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m512i half = _mm512_set1_epi32(0x8000);
  const auto round_off = [&](__m512& value) {
    const __m512i part = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(value), half), upper_mask);
    value = _mm512_sub_ps(value, _mm512_castsi512_ps(part));
    return part;
  };
  const auto join = [](__m512i even, __m512i odd) { return _mm512_or_si512(_mm512_srli_epi32(even, 16), odd); };
  for (std::size_t row = begin * kTileRow; row < end * kTileRow; row += kTileRow) {
    __m512 even = _mm512_load_ps(stored + 2 * row);
    __m512 odd = _mm512_load_ps(stored + 2 * row + kTileRow);
    const __m512i high_even = round_off(even);
    const __m512i high_odd = round_off(odd);
    _mm512_store_si512(unfolded + row, join(high_even, high_odd));
    const __m512i middle_even = round_off(even);
    const __m512i middle_odd = round_off(odd);
    _mm512_store_si512(unfolded + kPart + row, join(middle_even, middle_odd));
    _mm512_store_si512(unfolded + 2 * kPart + row, join(_mm512_castps_si512(even), _mm512_castps_si512(odd)));
  }
}

void ExpandSteps(const std::byte* stored, std::size_t steps, std::byte* unfolded) {
  for (std::size_t s = 0; s < steps; ++s) {
    ExpandTileRows(stored + s * kPartsBytes<2>, unfolded + s * kPartsBytes<3>, 0, 2 * kTileRows);
  }
}

/// Unfolds a step in between the products of the one before: vector units, tiles and memory work side by side, and what is
/// unfolded stays in the first-level cache. `scratch` holds two steps.
template <bool Two>
HWY_INLINE void ExpandAndMultiplyTiles(const std::byte* rows, const std::byte* stored, std::size_t steps, std::byte* scratch,
                                       float* sums, std::size_t sums_stride, bool accumulate) {
  constexpr std::size_t kRows = 2 * kTileRows;
  OpenSums<Two>(sums, sums_stride, accumulate);
  ExpandTileRows(stored, scratch, 0, kRows);
  for (std::size_t s = 0; s + 1 < steps; ++s, rows += kPartsBytes<3>) {
    const std::byte* weights = scratch + s % 2 * kPartsBytes<3>;
    std::byte* next = scratch + (s + 1) % 2 * kPartsBytes<3>;
    stored += kPartsBytes<2>;
    MultiplySixProducts<Two>(rows, weights, [&](std::size_t product) {
      ExpandTileRows(stored, next, kRows * product / 6, kRows * (product + 1) / 6);
      MemoryBarrier();
    });
  }
  MultiplySixProducts<Two>(rows, scratch + (steps - 1) % 2 * kPartsBytes<3>, [](std::size_t) {});
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

/// Weights of 16 outputs, `depth` floats each (a multiple of 32), into their column of tiles; steps lie `step_bytes` apart.
template <std::size_t Parts>
void PackOutputs(const float* rows, std::size_t depth, std::byte* to, std::size_t step_bytes) {
  constexpr std::size_t kStep = 2 * kTileRows;
  for (std::size_t k = 0; k < depth; k += kStep, to += step_bytes) {
    __m512i left[kTileRows];
    __m512i right[kTileRows];
    if constexpr (Parts == 3) {
      for (std::size_t n = 0; n < kTileRows; ++n) {
        left[n] = _mm512_loadu_si512(rows + n * depth + k);
        right[n] = _mm512_loadu_si512(rows + n * depth + k + kTileRows);
      }
      Transpose16(left);
      Transpose16(right);
      for (std::size_t n = 0; n < kTileRows; ++n) {
        _mm512_store_si512(to + n * kTileRow, left[n]);
        _mm512_store_si512(to + kTileBytes + n * kTileRow, right[n]);
      }
    } else {
      for (std::size_t n = 0; n < kTileRows; ++n) {
        __m512 a = _mm512_loadu_ps(rows + n * depth + k);
        __m512 b = _mm512_loadu_ps(rows + n * depth + k + kTileRows);
        left[n] = _mm512_inserti64x4(_mm512_castsi256_si512(SplitOff(a)), SplitOff(b), 1);
        right[n] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a));
      }
      Transpose16(left);
      for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(to + n * kTileRow, left[n]);
      if constexpr (Parts == 2) {
        Transpose16(right);
        for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(to + 2 * kTileBytes + n * kTileRow, right[n]);
      }
    }
  }
}

/// Codes of 16 outputs, `depth` each (a multiple of 64), into their column of tiles.
void PackCodes(const std::int8_t* rows, std::size_t depth, std::byte* to) {
  for (std::size_t k = 0; k < depth; k += kTileRow, to += 2 * kTileBytes) {
    __m512i quads[kTileRows];
    for (std::size_t n = 0; n < kTileRows; ++n) quads[n] = _mm512_loadu_si512(rows + n * depth + k);
    Transpose16(quads);
    for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(to + n * kTileRow, quads[n]);
  }
}

/// Codes of one panel for bfloat16 tiles: a step is [2 tiles][16 pairs of input columns][16 outputs][2], a byte each.
constexpr std::size_t kCodeStepBytes = kTileBytes;

/// Codes of 16 outputs, `depth` each (a multiple of 32), into their column of tiles.
void PackCodePairs(const std::int8_t* rows, std::size_t depth, std::byte* to) {
  constexpr std::size_t kStep = 2 * kTileRows;
  for (std::size_t k = 0; k < depth; k += kStep, to += kCodeStepBytes) {
    __m512i pairs[kTileRows];
    for (std::size_t n = 0; n < kTileRows; ++n) {
      pairs[n] = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + n * depth + k)));
    }
    Transpose16(pairs);
    for (std::size_t r = 0; r < kTileRows; ++r) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(to + r * kTileRow / 2), _mm512_cvtepi32_epi16(pairs[r]));
    }
  }
}

/// Codes as bfloat16, which holds them whole.
void ExpandCodes(const std::byte* stored, std::size_t steps, std::byte* unfolded) {
  for (std::size_t at = 0; at < steps * kCodeStepBytes; at += kTileRow / 2, unfolded += kTileRow) {
    const auto load = [&](std::size_t half) {
      const __m128i codes = _mm_load_si128(reinterpret_cast<const __m128i*>(stored + at + half * sizeof(__m128i)));
      return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes));
    };
    _mm512_store_si512(unfolded, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(load(1), load(0))));
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
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (Two) {
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  CloseSums<Two>(sums, sums_stride);
}

/// Sums of codes, less what the zeros of the rows add, times the steps of row and column.
HWY_INLINE void ScaleSums(float* sums, std::size_t sums_stride, std::size_t count, const native::RowCode* rows,
                          const float* scale, const std::int32_t* column_sums) {
  for (std::size_t half = 0; half < 2; ++half) {
    const __m512 column_scale = _mm512_loadu_ps(scale + half * kTileRows);
    const __m512i column_sum = _mm512_loadu_si512(column_sums + half * kTileRows);
    for (std::size_t r = 0; r < count; ++r) {
      float* line = sums + r * sums_stride / sizeof(float) + half * kTileRows;
      const __m512i zeros = _mm512_mullo_epi32(_mm512_set1_epi32(rows[r].zero), column_sum);
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_loadu_si512(line), zeros));
      _mm512_storeu_ps(line, _mm512_mul_ps(sum, _mm512_mul_ps(_mm512_set1_ps(rows[r].step), column_scale)));
    }
  }
}

void MultiplyCodesBlock(const std::byte* rows, const native::RowCode* row_codes, const std::byte* weights,
                        const float* scale, const std::int32_t* column_sums, std::size_t steps, float* sums, std::size_t sums_stride,
                        std::size_t count) {
  if (count > kTileRows) {
    MultiplyCodes<true>(rows, weights, steps, sums, sums_stride);
  } else {
    MultiplyCodes<false>(rows, weights, steps, sums, sums_stride);
  }
  ScaleSums(sums, sums_stride, count, row_codes, scale, column_sums);
}

/// The same products where there are no tiles: pairs of bfloat16 by AVX512_BF16, quadruples of codes by AVX512_VNNI. A register
/// holds a row of a tile of weights; one pair or quadruple of the input is broadcast.
template <std::size_t Rows, bool Codes>
HWY_INLINE void DotGroup(const std::byte* rows, const std::byte* weights, std::size_t steps, std::byte* sums,
                         std::size_t stride, bool accumulate) {
  __m512i s[Rows][2];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      s[r][v] = accumulate ? _mm512_loadu_si512(sums + r * stride + v * kTileRow) : _mm512_setzero_si512();
    }
  }
  for (std::size_t step = 0; step < steps; ++step, rows += 2 * kTileBytes, weights += 2 * kTileBytes) {
    for (std::size_t k = 0; k < kTileRows; ++k) {
      const __m512i left = _mm512_load_si512(weights + k * kTileRow);
      const __m512i right = _mm512_load_si512(weights + kTileBytes + k * kTileRow);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) {
        std::int32_t element;
        std::memcpy(&element, rows + r * kTileRow + k * sizeof element, sizeof element);
        const __m512i x = _mm512_set1_epi32(element);
        if constexpr (Codes) {
          s[r][0] = _mm512_dpbusd_epi32(s[r][0], x, left);
          s[r][1] = _mm512_dpbusd_epi32(s[r][1], x, right);
        } else {
          const auto pairs = reinterpret_cast<__m512bh>(x);
          s[r][0] = _mm512_castps_si512(
              _mm512_dpbf16_ps(_mm512_castsi512_ps(s[r][0]), pairs, reinterpret_cast<__m512bh>(left)));
          s[r][1] = _mm512_castps_si512(
              _mm512_dpbf16_ps(_mm512_castsi512_ps(s[r][1]), pairs, reinterpret_cast<__m512bh>(right)));
        }
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) _mm512_storeu_si512(sums + r * stride + v * kTileRow, s[r][v]);
  }
}

template <bool Codes>
void DotBlock(const std::byte* rows, const std::byte* weights, std::size_t steps, float* sums, std::size_t stride,
              bool accumulate, std::size_t count) {
  auto* out = reinterpret_cast<std::byte*>(sums);
  std::size_t r = 0;
  const auto group = [&](auto size) {
    DotGroup<decltype(size)::value, Codes>(rows + r * kTileRow, weights, steps, out + r * stride, stride, accumulate);
    r += decltype(size)::value;
  };
  while (r + 8 <= count) group(std::integral_constant<std::size_t, 8>());
  if (r + 4 <= count) group(std::integral_constant<std::size_t, 4>());
  while (r < count) group(std::integral_constant<std::size_t, 1>());
}

void DotCodesBlock(const std::byte* rows, const native::RowCode* row_codes, const std::byte* weights, const float* scale,
                   const std::int32_t* column_sums, std::size_t steps, float* sums, std::size_t sums_stride, std::size_t count) {
  DotBlock<true>(rows, weights, steps, sums, sums_stride, false, count);
  ScaleSums(sums, sums_stride, count, row_codes, scale, column_sums);
}

/// Rows as codes 0…255 of one step and zero a row, into tiles of 16 rows × 64 columns. The range of a row reaches from its
/// least value to its largest, 0 included: after GELU nearly all of it is on one side. Scaled: columns times `scale` first.
template <bool Scaled>
void ConvertCodes(ConstMatrix x, const float* scale, const native::Operand& operand, std::size_t cols) {
  constexpr std::size_t kLanes = 16;
  constexpr float kLargestCode = 255.0F;
  // Below this the inverse of the step is infinite, and the row is zero for any purpose.
  constexpr float kSmallest = 1e-35F;
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* from = x.row(r);
    const auto load = [&](std::size_t c) {
      const std::size_t left = x.cols > c ? x.cols - c : 0;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFFU : (1U << left) - 1U);
      const __m512 value = _mm512_maskz_loadu_ps(mask, from + c);
      return Scaled ? _mm512_mul_ps(value, _mm512_maskz_loadu_ps(mask, scale + c)) : value;
    };
    __m512 least = _mm512_setzero_ps();
    __m512 largest = _mm512_setzero_ps();
    __m512 nan_keeper = _mm512_setzero_ps();
    for (std::size_t c = 0; c < x.cols; c += kLanes) {
      const __m512 value = load(c);
      least = _mm512_min_ps(least, value);
      largest = _mm512_max_ps(largest, value);
      nan_keeper = _mm512_fmadd_ps(value, _mm512_setzero_ps(), nan_keeper);
    }
    const float low = _mm512_reduce_min_ps(least);
    // A row with NaN or infinity has a step that is not finite, so that its results are not either.
    const float range = _mm512_reduce_max_ps(largest) - low + _mm512_reduce_add_ps(nan_keeper);
    const bool flat = range <= kSmallest;
    const float inverse = flat ? 0.0F : kLargestCode / range;
    const float zero = std::nearbyint(-low * inverse);
    operand.codes[r] = {flat ? 0.0F : range / kLargestCode, std::isfinite(zero) ? static_cast<std::int32_t>(zero) : 0};
    const __m512 inverses = _mm512_set1_ps(inverse);
    const __m512i zeros = _mm512_set1_epi32(operand.codes[r].zero);
    std::byte* to = operand.data + r / kBlock * operand.stride + r % kBlock * kTileRow;
    for (std::size_t c = 0; c < cols; c += kLanes) {
      const __m512i shifted = _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_mul_ps(load(c), inverses)), zeros);
      const __m512i codes = _mm512_max_epi32(shifted, _mm512_setzero_si512());
      std::byte* at = to + c / kTileRow * 2 * kTileBytes + c % kTileRow;
      _mm_store_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtusepi32_epi8(codes));
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

/// Panels for weights of that shape, with their bias, still empty.
std::unique_ptr<Packed> open_panels(const JoinedWeights& weights, Precision precision, std::size_t step, std::size_t step_bytes) {
  auto packed = std::make_unique<Packed>();
  packed->in = weights.in();
  packed->out = weights.out();
  packed->precision = precision;
  packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
  packed->steps = (weights.in() + step - 1) / step;
  packed->panel_bytes = packed->steps * step_bytes;
  packed->data = Bytes(packed->panels * packed->panel_bytes);
  packed->bias = weights.bias();
  packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
  return packed;
}

/// fill(first output, outputs up to 16, where they go) for each column of tiles; columns of a step lie `column_bytes` apart.
template <class Fill>
void for_tile_columns(Packed& packed, std::size_t column_bytes, const Fill& fill) {
  for (std::size_t column = 0; column < packed.panels * amx::kPanel; column += amx::kTileRows) {
    const std::size_t count = column < packed.out ? std::min(amx::kTileRows, packed.out - column) : 0;
    std::byte* panel = packed.data.data() + column / amx::kPanel * packed.panel_bytes;
    fill(column, count, panel + column / amx::kTileRows % 2 * column_bytes);
  }
}

/// bfloat16 tiles. One plane: operands rounded. Two and three: each operand is a sum of that many parts, and the
/// products that matter are summed (Henry, Tang & Heinecke 2019, "Leveraging the bfloat16 … data type for higher-precision
/// computation"): three products of two parts, six of three.
template <std::size_t Parts>
class TileEngine : public Engine {
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
    auto packed = open_panels(weights, kPrecision, step(), kStepBytes);
    const std::size_t depth = packed->steps * step();
    // A column of tiles of a step takes one tile for each stored part, or one run of two where the parts are not split yet.
    constexpr std::size_t kColumn = Parts == 3 ? 2 * amx::kTileBytes : amx::kTileBytes;
    FloatBuffer rows(amx::kTileRows * depth);
    for_tile_columns(*packed, kColumn, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(rows.data(), rows.data() + amx::kTileRows * depth, 0.0F);
      for (std::size_t n = 0; n < count; ++n) weights.row(first + n, rows.data() + n * depth);
      amx::PackOutputs<Parts>(rows.data(), depth, to, kStepBytes);
    });
    return packed;
  }

  void convert(const Packed&, ConstMatrix x, const Operand& operand) const override {
    amx::ConvertRows<Parts>(x, operand, (x.cols + step() - 1) / step() * step());
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  std::size_t expanded_bytes(std::size_t steps) const override {
    return Parts == 3 ? std::max<std::size_t>(steps, 2) * amx::kPartsBytes<3> : 0;
  }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    if (Parts == 3) amx::ExpandSteps(weights.panel(panel_index) + first * kStepBytes, last - first, scratch);
  }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last, const std::byte* expanded,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead ahead) const override {
    const std::byte* tiles = Parts == 3 ? expanded : weights.panel(panel_index) + first * kStepBytes;
    amx::MultiplyBlock<Parts, Parts, Parts == 1>(operand.data + row / amx::kBlock * operand.stride, tiles, last - first, sums,
                               stride * sizeof(float), accumulate, rows, ahead);
  }

  void multiply_and_finish(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           const std::byte* expanded, const Operand& operand, std::size_t row, std::size_t rows, float* sums,
                           std::size_t stride, Ahead ahead, const Finish* before) const override {
    const bool full = before != nullptr && before->rows == amx::kBlock && before->cols == amx::kPanel;
    if (!full || rows <= amx::kTileRows) {
      if (before != nullptr) finish(*before);
      multiply(weights, panel_index, first, last, expanded, operand, row, rows, sums, stride, false, ahead);
      return;
    }
    const std::byte* tiles = Parts == 3 ? expanded : weights.panel(panel_index) + first * kStepBytes;
    amx::MultiplyAndFinish<Parts>(operand.data + row / amx::kBlock * operand.stride, tiles, last - first, sums,
                                  stride * sizeof(float), ahead, *before);
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

 protected:
  static constexpr Precision kPrecision = Parts == 1 ? Precision::bf16 : Parts == 2 ? Precision::bf16x3 : Precision::bf16x6;

 private:
  /// One step of a panel: two tiles a part, or the float32 that three parts are split from.
  static constexpr std::size_t kStepBytes = (Parts == 1 ? 2 : 4) * amx::kTileBytes;
};

/// bfloat16 tiles for weights that are codes with a step a row: the codes are multiplied, exact in bfloat16, and the tail
/// multiplies by the steps. Three products do what six do for other weights, from a quarter of the memory.
template <std::size_t Parts>
class CodeTileEngine final : public TileEngine<Parts> {
 public:
  std::size_t step_bytes(std::size_t steps) const override { return steps * amx::kCodeStepBytes; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = open_panels(weights, TileEngine<Parts>::kPrecision, this->step(), amx::kCodeStepBytes);
    const std::size_t depth = packed->steps * this->step();
    packed->column_scale.resize(packed->panels * amx::kPanel, 0.0F);
    std::vector<std::int8_t> codes(amx::kTileRows * depth);
    for_tile_columns(*packed, amx::kCodeStepBytes / 2, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n) packed->column_scale[first + n] = weights.codes(first + n, {}, codes.data() + n * depth);
      amx::PackCodePairs(codes.data(), depth, to);
    });
    return packed;
  }

  std::size_t expanded_bytes(std::size_t steps) const override { return steps * amx::kPartsBytes<1>; }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    amx::ExpandCodes(weights.panel(panel_index) + step_bytes(first), last - first, scratch);
  }

  void multiply(const Packed&, std::size_t, std::size_t first, std::size_t last, const std::byte* expanded,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead ahead) const override {
    amx::MultiplyBlock<Parts, 1>(operand.data + row / amx::kBlock * operand.stride, expanded, last - first, sums,
                                 stride * sizeof(float), accumulate, rows, ahead);
  }

  void multiply_and_finish(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           const std::byte* expanded, const Operand& operand, std::size_t row, std::size_t rows, float* sums,
                           std::size_t stride, Ahead ahead, const Finish* before) const override {
    const bool full = before != nullptr && before->rows == amx::kBlock && before->cols == amx::kPanel;
    if (!full || rows <= amx::kTileRows) {
      return Engine::multiply_and_finish(weights, panel_index, first, last, expanded, operand, row, rows, sums, stride, ahead,
                                         before);
    }
    amx::MultiplyAndFinish<Parts, 1>(operand.data + row / amx::kBlock * operand.stride, expanded, last - first, sums,
                                     stride * sizeof(float), ahead, *before);
  }

  void expand_and_multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           std::byte* scratch, const Operand& operand, std::size_t rows, float* sums, std::size_t stride,
                           bool accumulate) const override {
    Engine::expand_and_multiply(weights, panel_index, first, last, scratch, operand, rows, sums, stride, accumulate);
  }
};

/// bfloat16 pairs by AVX512_BF16 on the same layouts.
class PairEngine final : public TileEngine<1> {
 public:
  std::string_view name() const override { return "AVX512_BF16 dot products"; }
  void begin() const override {}
  void end() const override {}
  void multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last, const std::byte*,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride, bool accumulate,
                Ahead) const override {
    amx::DotBlock<false>(operand.data + row / amx::kBlock * operand.stride,
                         weights.panel(panel_index) + step_bytes(first), last - first, sums, stride * sizeof(float), accumulate,
                         rows);
  }
  void multiply_and_finish(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           const std::byte* expanded, const Operand& operand, std::size_t row, std::size_t rows, float* sums,
                           std::size_t stride, Ahead ahead, const Finish* before) const override {
    Engine::multiply_and_finish(weights, panel_index, first, last, expanded, operand, row, rows, sums, stride, ahead, before);
  }
  void expand_and_multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
                           std::byte* scratch, const Operand& operand, std::size_t rows, float* sums, std::size_t stride,
                           bool accumulate) const override {
    multiply(weights, panel_index, first, last, scratch, operand, 0, rows, sums, stride, accumulate, {});
  }
};

/// int8: codes with a step a row on both sides, and a zero a row of the input; sums in int32. Both instructions give the same.
template <bool Tiles>
class CodeEngine final : public Engine {
 public:
  std::string_view name() const override { return Tiles ? "AMX tiles" : "AVX512_VNNI dot products"; }
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
    auto packed = open_panels(weights, Precision::int8, step(), 2 * amx::kTileBytes);
    const std::size_t depth = packed->steps * step();
    packed->scale.resize(packed->panels * amx::kPanel, 0.0F);
    packed->sum.resize(packed->panels * amx::kPanel, 0);
    const std::vector<float> shares = weights.input_shares();
    for (const float share : shares) packed->input_scale.push_back(1.0F / share);
    std::vector<std::int8_t> codes(amx::kTileRows * depth);
    for_tile_columns(*packed, amx::kTileBytes, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n) {
        const auto row = codes.begin() + static_cast<std::ptrdiff_t>(n * depth);
        packed->scale[first + n] = weights.codes(first + n, shares, codes.data() + n * depth);
        packed->sum[first + n] = std::accumulate(row, row + static_cast<std::ptrdiff_t>(depth), 0);
      }
      amx::PackCodes(codes.data(), depth, to);
    });
    return packed;
  }

  void convert(const Packed& weights, ConstMatrix x, const Operand& operand) const override {
    const std::size_t cols = (x.cols + step() - 1) / step() * step();
    if (weights.input_scale.empty()) return amx::ConvertCodes<false>(x, nullptr, operand, cols);
    amx::ConvertCodes<true>(x, weights.input_scale.data(), operand, cols);
  }
  void begin() const override {
    if (Tiles) amx::BeginTiles();
  }
  void end() const override {
    if (Tiles) amx::EndTiles();
  }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t, std::size_t, const std::byte*,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride, bool,
                Ahead) const override {
    const std::byte* block = operand.data + row / amx::kBlock * operand.stride;
    const float* scale = weights.scale.data() + panel_index * amx::kPanel;
    const std::int32_t* column_sums = weights.sum.data() + panel_index * amx::kPanel;
    const auto kernel = Tiles ? amx::MultiplyCodesBlock : amx::DotCodesBlock;
    kernel(block, operand.codes + row, weights.panel(panel_index), scale, column_sums, weights.steps, sums,
           stride * sizeof(float), rows);
  }

  void finish_to_operand(const float*, std::size_t, std::size_t, std::size_t, const BlockTail&, const Operand&, std::size_t,
                         std::size_t) const override {}
};

template <class Kind>
const Engine* engine_where(bool supported) {
  static const Kind engine;
  return supported ? &engine : nullptr;
}

}  // namespace

const Engine* engine_bf16_amx() { return engine_where<TileEngine<1>>(cpu_features().amx_bf16); }
const Engine* engine_bf16x3() { return engine_where<TileEngine<2>>(cpu_features().amx_bf16); }
const Engine* engine_bf16x6() { return engine_where<TileEngine<3>>(cpu_features().amx_bf16); }
const Engine* engine_codes_bf16() { return engine_where<CodeTileEngine<1>>(cpu_features().amx_bf16); }
const Engine* engine_codes_bf16x3() { return engine_where<CodeTileEngine<2>>(cpu_features().amx_bf16); }
const Engine* engine_codes_bf16x6() { return engine_where<CodeTileEngine<3>>(cpu_features().amx_bf16); }
const Engine* engine_int8_amx() { return engine_where<CodeEngine<true>>(cpu_features().amx_int8); }
const Engine* engine_bf16_pairs() { return engine_where<PairEngine>(cpu_features().avx512_bf16); }
const Engine* engine_int8_quadruples() { return engine_where<CodeEngine<false>>(cpu_features().avx512_vnni); }

#else

const Engine* engine_bf16_amx() { return nullptr; }
const Engine* engine_bf16_pairs() { return nullptr; }
const Engine* engine_codes_bf16() { return nullptr; }
const Engine* engine_codes_bf16x3() { return nullptr; }
const Engine* engine_codes_bf16x6() { return nullptr; }
const Engine* engine_bf16x3() { return nullptr; }
const Engine* engine_bf16x6() { return nullptr; }
const Engine* engine_int8_amx() { return nullptr; }
const Engine* engine_int8_quadruples() { return nullptr; }

#endif

const Engine* engine_bf16() {
  if (const Engine* tiles = engine_bf16_amx()) return tiles;
  if (const Engine* pairs = engine_bf16_pairs()) return pairs;
  return engine_bf16_by_conversion();
}

const Engine* engine_int8() {
  const Engine* tiles = engine_int8_amx();
  return tiles != nullptr ? tiles : engine_int8_quadruples();
}

}  // namespace mha::native
#endif
