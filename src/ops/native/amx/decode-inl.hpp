// Weights from the form in which they are stored to the tiles that are multiplied.
#if defined(MHA_OPS_NATIVE_DECODE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_DECODE_INL_HPP
#undef MHA_OPS_NATIVE_DECODE_INL_HPP
#else
#define MHA_OPS_NATIVE_DECODE_INL_HPP
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "ops/native/amx/tiles-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AMX();
namespace mha {
namespace HWY_NAMESPACE {

/// Splits weights that are stored as float32 into three parts, for one step: [2 tiles][16 rows][even, odd input
/// column][16 outputs] becomes [high][middle][low], two tiles each; rows [begin, end) of the 32. Each part is rounded
/// to nearest; the remainder after the last one is zero.
HWY_INLINE void DecodeTileRows(const std::byte* stored, std::byte* decoded, std::size_t begin, std::size_t end) {
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
    _mm512_store_si512(decoded + row, join(high_even, high_odd));
    const __m512i middle_even = round_off(even);
    const __m512i middle_odd = round_off(odd);
    _mm512_store_si512(decoded + kPart + row, join(middle_even, middle_odd));
    _mm512_store_si512(decoded + 2 * kPart + row, join(_mm512_castps_si512(even), _mm512_castps_si512(odd)));
  }
}

/// The same for `steps` whole steps.
inline void DecodeSteps(const std::byte* stored, std::size_t steps, std::byte* decoded) {
  for (std::size_t s = 0; s < steps; ++s) {
    DecodeTileRows(stored + s * kStoredBytes<3>, decoded + s * kPartsBytes<3>, 0, 2 * kTileRows);
  }
}

/// Decodes each step between the products of the step before: vector units, tiles and memory work side by side, and the
/// decoded weights stay in the first-level cache. `product.weights` are as stored; `scratch` holds two steps.
template <bool Two>
HWY_INLINE void DecodeAndMultiplyTiles(const TileProduct& product, std::byte* scratch) {
  constexpr std::size_t kRows = 2 * kTileRows;
  const std::size_t steps = product.steps;
  const std::byte* rows = product.rows;
  const std::byte* stored = product.weights;
  OpenSums<Two>(product.sums, product.stride_bytes(), product.accumulate);
  DecodeTileRows(stored, scratch, 0, kRows);
  for (std::size_t s = 0; s + 1 < steps; ++s, rows += kPartsBytes<3>) {
    const std::byte* weights = scratch + s % 2 * kPartsBytes<3>;
    std::byte* next = scratch + (s + 1) % 2 * kPartsBytes<3>;
    stored += kStoredBytes<3>;
    MultiplySixProducts<Two>(rows, weights, [&](std::size_t i) {
      DecodeTileRows(stored, next, kRows * i / 6, kRows * (i + 1) / 6);
      MemoryBarrier();
    });
  }
  MultiplySixProducts<Two>(rows, scratch + (steps - 1) % 2 * kPartsBytes<3>, [](std::size_t) {});
  CloseSums<Two>(product.sums, product.stride_bytes());
}

/// The same for `count` rows.
inline void DecodeAndMultiply(const TileProduct& product, std::size_t count, std::byte* scratch) {
  if (count > kTileRows) {
    DecodeAndMultiplyTiles<true>(product, scratch);
  } else {
    DecodeAndMultiplyTiles<false>(product, scratch);
  }
}

/// Codes as bfloat16, which holds them whole.
inline void DecodeCodes(const std::byte* stored, std::size_t steps, std::byte* decoded) {
  for (std::size_t at = 0; at < steps * kCodePairBytes; at += kTileRow / 2, decoded += kTileRow) {
    const auto load = [&](std::size_t half) {
      const __m128i codes = _mm_load_si128(reinterpret_cast<const __m128i*>(stored + at + half * sizeof(__m128i)));
      return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes));
    };
    _mm512_store_si512(decoded, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(load(1), load(0))));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
