#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "ops/cpu.hpp"
#include "ops/native/engine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/engine_amx.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/tail-inl.hpp"
#include "ops/native/tiles-inl.hpp"

// Compiled for AVX-512 with AMX; runs only where `cpu_features` says so.
#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512vnni,amx-tile,amx-bf16,amx-int8")
namespace mha {
namespace HWY_NAMESPACE {

template <std::size_t Parts>
void FinishToParts(const native::Finish& tail, const float* sums, std::size_t stride, std::size_t row,
                   std::size_t rows) {
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    FinishVectors(tail, sums, stride, row, rows, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t) {
      StoreParts<Parts>(value.raw, TiledAt<Parts>(tail.operand, r, tail.column + c));
    });
  });
}

/// Where a full block of sums ends.
enum class End { rows, rows_with_residual, operand };

/// The tail of a full block of sums, two rows of two vectors at a time, as `Engine::finish` computes it; what it reads
/// again and again is in registers.
template <std::size_t Parts, bool Codes, End kEnd, class Function>
class FullBlock {
 public:
  static constexpr std::size_t kPairs = kBlock / 2;

  HWY_INLINE FullBlock(const native::Waiting& block, const Function& function)
      : function_(function), sums_(block.sums) {
    const native::Finish& tail = block.finish;
    left_ = column(tail, 0);
    right_ = column(tail, kTileRows);
    if (Codes) codes_ = tail.codes + block.row;
    if (kEnd == End::operand) {
      to_operand_ = TiledAt<Parts>(tail.operand, block.row, tail.column);
    } else {
      to_ = tail.y + block.row * tail.y_stride;
      stride_ = tail.y_stride;
    }
    if (kEnd == End::rows_with_residual) {
      residual_ = tail.residual + block.row * tail.residual_stride;
      residual_stride_ = tail.residual_stride;
    }
  }

  HWY_INLINE void finish(std::size_t pair) const {
    const F32 d;
    const std::size_t row = 2 * pair;
    const float* from = sums_ + row * kPanel;
    Wide x{{scaled_and_biased(from, row, left_), scaled_and_biased(from + kTileRows, row, right_),
            scaled_and_biased(from + kPanel, row + 1, left_),
            scaled_and_biased(from + kPanel + kTileRows, row + 1, right_)}};
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
        x = Add(x, {{hn::LoadU(d, residual), hn::LoadU(d, residual + kTileRows), hn::LoadU(d, below),
                     hn::LoadU(d, below + kTileRows)}});
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
  static HWY_INLINE Column column(const native::Finish& tail, std::size_t at) {
    return {hn::LoadU(F32(), tail.bias + at),
            tail.scale == nullptr ? hn::Set(F32(), 1.0F) : hn::LoadU(F32(), tail.scale + at),
            Codes ? _mm512_loadu_si512(tail.code_sums + at) : _mm512_setzero_si512()};
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

/// Whether `MultiplyAndFinish` can finish the block.
inline bool IsFullBlock(const native::Waiting& block) {
  const native::Finish& tail = block.finish;
  return block.rows == kBlock && tail.cols == kPanel &&
         (tail.residual == nullptr || tail.activation == Activation::none);
}

/// A full block of sums while the full block before is finished, a few rows after each step: a tail that waited for the
/// tiles would leave both idle in turns.
template <class Products, std::size_t Parts, bool Codes>
void MultiplyAndFinish(const std::byte* rows, const std::byte* weights, std::size_t steps, float* sums, bool accumulate,
                       native::Ahead ahead, const native::Waiting& before) {
  const native::Finish& tail = before.finish;
  const auto run = [&](auto end, const auto& function) __attribute__((always_inline)) {
    using Tail = FullBlock<Parts, Codes, decltype(end)::value, std::decay_t<decltype(function)>>;
    const Tail block(before, function);
    MultiplyTiles<Products, true, kStreamsRows<Products>, Tail::kPairs>(
        rows, weights, steps, sums, kPanel * sizeof(float), accumulate,
        ahead, [block](std::size_t pair) __attribute__((always_inline)) { block.finish(pair); });
  };
  if (tail.residual != nullptr) {
    return run(std::integral_constant<End, End::rows_with_residual>(), IdentityFunction());
  }
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    if constexpr (!Codes) {
      if (tail.y == nullptr) return run(std::integral_constant<End, End::operand>(), function);
    }
    run(std::integral_constant<End, End::rows>(), function);
  });
}

/// Steps that are multiplied at a time by all rows of a group of blocks: their weights stay in the first-level cache,
/// beside the sums of the group. Deeper products come back to their sums.
constexpr std::size_t kWholeDepth = 16;
constexpr std::size_t kDepthRun = 8;
constexpr std::size_t kBlocksTogether = 4;
/// Two groups: one is multiplied while the last block of the other waits.
constexpr std::size_t kSumBlocks = 2 * kBlocksTogether;

/// All rows of the call times its panel, whose weights are `tiles`.
template <class Products, std::size_t Parts, bool Codes>
void MultiplyPanel(const native::Engine& engine, const native::PanelCall& call, const std::byte* tiles,
                   const native::Finish& tail, float* sums, native::Waiting& waiting, native::Ahead next) {
  constexpr std::size_t kSums = kBlock * kPanel;
  const std::size_t steps = call.end - call.begin;
  const std::size_t run = kStreamsRows<Products> && steps > kWholeDepth ? kDepthRun : steps;
  const std::size_t runs = (steps + run - 1) / run;
  const std::size_t blocks = (call.rows + kBlock - 1) / kBlock;
  const std::size_t together = runs > 1 ? kBlocksTogether : 1;
  native::Lookahead lookahead(next, blocks * runs);
  for (std::size_t group = 0; group < blocks; group += together) {
    const bool lower_half_waits = waiting.rows > 0 && waiting.sums < sums + together * kSums;
    float* group_sums = sums + (lower_half_waits ? together * kSums : 0);
    const std::size_t group_end = std::min(group + together, blocks);
    for (std::size_t first = 0; first < steps; first += run) {
      const std::size_t count = std::min(run, steps - first);
      const bool last = first + count == steps;
      for (std::size_t block = group; block < group_end; ++block) {
        const std::size_t rows = std::min(kBlock, call.rows - block * kBlock);
        const std::byte* from = call.operand.data + block * call.operand.stride + first * Products::kRowBytes;
        const std::byte* weights = tiles + first * Products::kWeightBytes;
        float* block_sums = group_sums + (block - group) * kSums;
        if (last && rows > kTileRows && waiting.rows > 0 && IsFullBlock(waiting)) {
          MultiplyAndFinish<Products, Parts, Codes>(from, weights, count, block_sums, first > 0, lookahead.step(),
                                                    waiting);
        } else {
          if (last) engine.finish(waiting);
          MultiplyBlock<Products, kStreamsRows<Products>>(from, weights, count, block_sums, kPanel * sizeof(float),
                                                          first > 0, rows, lookahead.step());
        }
        if (last) waiting = {block_sums, block * kBlock, rows, tail};
      }
    }
  }
}

/// The three parts of weights that are kept as float32, for one step: [2 tiles][16 rows][even, odd input column][16
/// outputs] becomes [high][middle][low], two tiles each; rows [begin, end) of the 32. Each part is rounded to nearest;
/// what the last one leaves is zero.
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
  // The hardware's own fetching ahead ends with each page of 4 KiB.
  constexpr std::size_t kAhead = 5120;
  const auto* ahead = reinterpret_cast<const char*>(stored) + kAhead;
  for (std::size_t row = begin * kTileRow; row < end * kTileRow; row += kTileRow) {
    _mm_prefetch(ahead + 2 * row, _MM_HINT_T0);
    _mm_prefetch(ahead + 2 * row + kTileRow, _MM_HINT_T0);
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

/// Unfolds a step in between the products of the one before: vector units, tiles and memory work side by side, and what
/// is unfolded stays in the first-level cache. `scratch` holds two steps.
template <bool Two>
HWY_INLINE void ExpandAndMultiplyTiles(const std::byte* rows, const std::byte* stored, std::size_t steps,
                                       std::byte* scratch, float* sums, std::size_t sums_stride, bool accumulate) {
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

void ExpandAndMultiply(const std::byte* rows, const std::byte* stored, std::size_t steps, std::byte* scratch,
                       float* sums, std::size_t sums_stride, bool accumulate, std::size_t count) {
  if (count > kTileRows) {
    ExpandAndMultiplyTiles<true>(rows, stored, steps, scratch, sums, sums_stride, accumulate);
  } else {
    ExpandAndMultiplyTiles<false>(rows, stored, steps, scratch, sums, sums_stride, accumulate);
  }
}

/// Weights of 16 outputs, `depth` floats each (a multiple of 32), into their column of tiles; steps lie `step_bytes`
/// apart.
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

/// The same products where there are no tiles: pairs of bfloat16 by AVX512_BF16, quadruples of codes by AVX512_VNNI. A
/// register holds a row of a tile of weights; one pair or quadruple of the input is broadcast.
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

/// Rows as codes 0…255 of one step and zero a row, into tiles of 16 rows × 64 columns. The range of a row reaches from
/// its least value to its largest, 0 included: after GELU nearly all of it is on one side. Scaled: columns times
/// `scale` first.
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
std::unique_ptr<Packed> open_panels(const JoinedWeights& weights, std::size_t step, std::size_t step_bytes) {
  auto packed = std::make_unique<Packed>();
  packed->in = weights.in();
  packed->out = weights.out();
  packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
  packed->steps = (weights.in() + step - 1) / step;
  packed->panel_bytes = packed->steps * step_bytes;
  packed->data = Bytes(packed->panels * packed->panel_bytes);
  packed->bias = weights.bias();
  packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
  return packed;
}

/// fill(first output, outputs up to 16, where they go) for each column of tiles; columns of a step lie `column_bytes`
/// apart.
template <class Fill>
void for_tile_columns(Packed& packed, std::size_t column_bytes, const Fill& fill) {
  for (std::size_t column = 0; column < packed.panels * amx::kPanel; column += amx::kTileRows) {
    const std::size_t count = column < packed.out ? std::min(amx::kTileRows, packed.out - column) : 0;
    std::byte* panel = packed.data.data() + column / amx::kPanel * packed.panel_bytes;
    fill(column, count, panel + column / amx::kTileRows % 2 * column_bytes);
  }
}

/// Operands of bfloat16 parts, in tiles. One part: operands rounded. Two and three: each operand is a sum of that many
/// parts, and the products that matter are summed (Henry, Tang & Heinecke 2019, "Leveraging the bfloat16 … data type
/// for higher-precision computation"): three products of two parts, six of three.
template <std::size_t Parts>
class PartsEngine : public Engine {
 public:
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
    auto packed = open_panels(weights, step(), kStepBytes);
    const std::size_t depth = packed->steps * step();
    // A column of tiles of a step takes one tile for each stored part, or one run of two where the parts are not split
    // yet.
    constexpr std::size_t kColumn = Parts == 3 ? 2 * amx::kTileBytes : amx::kTileBytes;
    std::vector<float> rows(amx::kTileRows * depth);
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

 protected:
  void finish_to_operand(const Finish& tail, const float* sums, std::size_t stride, std::size_t row,
                         std::size_t rows) const override {
    amx::FinishToParts<Parts>(tail, sums, stride, row, rows);
  }
  /// The call's steps as they were packed.
  const std::byte* stored(const PanelCall& call) const {
    return call.weights.panel(call.panel) + step_bytes(call.begin);
  }

  /// One step of a panel: two tiles a part, or the float32 that three parts are split from.
  static constexpr std::size_t kStepBytes = (Parts == 1 ? 2 : 4) * amx::kTileBytes;
};

/// Their products on tiles, with weights of `WeightParts` parts.
template <std::size_t Parts, std::size_t WeightParts>
class ProductEngine : public PartsEngine<Parts> {
 public:
  std::string_view name() const override {
    return Parts == 1   ? "AMX tiles"
           : Parts == 2 ? "three bf16 products on AMX tiles"
                        : "six bf16 products on AMX tiles";
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  void multiply(const PanelCall& call, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead ahead) const override {
    amx::MultiplyBlock<Products, amx::kStreamsRows<Products>>(
        call.operand.data + row / amx::kBlock * call.operand.stride, tiles(call), call.end - call.begin, sums,
        stride * sizeof(float), accumulate, rows, ahead);
  }
  std::size_t sum_blocks() const override { return amx::kSumBlocks; }
  void multiply_panel(const PanelCall& call, const Finish& tail, float* sums, Waiting& waiting,
                      Ahead next) const override {
    amx::MultiplyPanel<Products, Parts, false>(*this, call, tiles(call), tail, sums, waiting, next);
  }

 protected:
  using Products = amx::PartProducts<Parts, WeightParts>;
  virtual const std::byte* tiles(const PanelCall& call) const = 0;
};

/// Weights in as many parts as operands.
template <std::size_t Parts>
class TileEngine final : public ProductEngine<Parts, Parts> {
 public:
  std::size_t expanded_bytes(std::size_t steps) const override {
    return Parts == 3 ? std::max<std::size_t>(steps, 2) * amx::kPartsBytes<3> : 0;
  }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    if (Parts == 3) amx::ExpandSteps(weights.panel(panel_index) + this->step_bytes(first), last - first, scratch);
  }

  void expand_and_multiply(const PanelCall& call, std::byte* scratch, float* sums, std::size_t stride,
                           bool accumulate) const override {
    const std::byte* stored = this->stored(call);
    const std::size_t steps = call.end - call.begin;
    if (Parts == 3) {
      amx::ExpandAndMultiply(call.operand.data, stored, steps, scratch, sums, stride * sizeof(float), accumulate,
                             call.rows);
    } else {
      amx::MultiplyBlock<amx::PartProducts<Parts>>(call.operand.data, stored, steps, sums, stride * sizeof(float),
                                                   accumulate, call.rows, {});
    }
  }

 protected:
  const std::byte* tiles(const PanelCall& call) const override {
    return Parts == 3 ? call.expanded : this->stored(call);
  }
};

/// bfloat16 tiles for weights that are codes with a step a row: the codes are multiplied, exact in bfloat16, and the
/// tail multiplies by the steps. Three products do what six do for other weights, from a quarter of the memory.
template <std::size_t Parts>
class CodeTileEngine final : public ProductEngine<Parts, 1> {
 public:
  std::size_t step_bytes(std::size_t steps) const override { return steps * amx::kCodeStepBytes; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = open_panels(weights, this->step(), amx::kCodeStepBytes);
    const std::size_t depth = packed->steps * this->step();
    packed->column_scale.resize(packed->panels * amx::kPanel, 0.0F);
    std::vector<std::int8_t> codes(amx::kTileRows * depth);
    for_tile_columns(*packed, amx::kCodeStepBytes / 2, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n)
        packed->column_scale[first + n] = weights.codes(first + n, {}, codes.data() + n * depth);
      amx::PackCodePairs(codes.data(), depth, to);
    });
    return packed;
  }

  std::size_t expanded_bytes(std::size_t steps) const override { return steps * amx::kPartsBytes<1>; }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    amx::ExpandCodes(weights.panel(panel_index) + step_bytes(first), last - first, scratch);
  }

 protected:
  const std::byte* tiles(const PanelCall& call) const override { return call.expanded; }
};

/// bfloat16 pairs by AVX512_BF16 on the same layouts.
class PairEngine final : public PartsEngine<1> {
 public:
  std::string_view name() const override { return "AVX512_BF16 dot products"; }
  void multiply(const PanelCall& call, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead) const override {
    amx::DotBlock<false>(call.operand.data + row / amx::kBlock * call.operand.stride, stored(call),
                         call.end - call.begin, sums, stride * sizeof(float), accumulate, rows);
  }
};

/// int8: codes with a step a row on both sides, and a zero a row of the input; sums in int32. Both instructions give
/// the same.
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
  std::size_t operand_stride(std::size_t cols) const override {
    return (cols + step() - 1) / step() * 2 * amx::kTileBytes;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = open_panels(weights, step(), 2 * amx::kTileBytes);
    const std::size_t depth = packed->steps * step();
    packed->column_scale.resize(packed->panels * amx::kPanel, 0.0F);
    packed->sum.resize(packed->panels * amx::kPanel, 0);
    const std::vector<float> shares = weights.input_shares();
    for (const float share : shares) packed->input_scale.push_back(1.0F / share);
    std::vector<std::int8_t> codes(amx::kTileRows * depth);
    for_tile_columns(*packed, amx::kTileBytes, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n) {
        const auto row = codes.begin() + static_cast<std::ptrdiff_t>(n * depth);
        packed->column_scale[first + n] = weights.codes(first + n, shares, codes.data() + n * depth);
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

  void multiply(const PanelCall& call, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead ahead) const override {
    const std::byte* block = call.operand.data + row / amx::kBlock * call.operand.stride;
    const std::size_t steps = call.end - call.begin;
    if (Tiles) {
      amx::MultiplyBlock<amx::CodeProducts>(block, tiles(call), steps, sums, stride * sizeof(float), accumulate, rows,
                                            ahead);
    } else {
      amx::DotBlock<true>(block, tiles(call), steps, sums, stride * sizeof(float), accumulate, rows);
    }
  }
  std::size_t sum_blocks() const override { return Tiles ? amx::kSumBlocks : 1; }
  void multiply_panel(const PanelCall& call, const Finish& tail, float* sums, Waiting& waiting,
                      Ahead next) const override {
    if (!Tiles) return Engine::multiply_panel(call, tail, sums, waiting, next);
    amx::MultiplyPanel<amx::CodeProducts, 1, true>(*this, call, tiles(call), tail, sums, waiting, next);
  }

 private:
  const std::byte* tiles(const PanelCall& call) const {
    return call.weights.panel(call.panel) + step_bytes(call.begin);
  }
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
  const Engine* pairs = cpu_features().fast_bf16_pairs ? engine_bf16_pairs() : nullptr;
  return pairs != nullptr ? pairs : engine_bf16_by_conversion();
}

const Engine* engine_int8() {
  const Engine* tiles = engine_int8_amx();
  return tiles != nullptr ? tiles : engine_int8_quadruples();
}

}  // namespace mha::native
#endif
