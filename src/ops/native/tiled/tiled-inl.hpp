// The arrangement that AMX and the AVX-512 dot products share. A tile is 16 rows of 64 bytes. A panel is 32 outputs and
// a block is 32 rows: two tiles side by side each. A tile's row of weights holds one pair of input columns (bfloat16)
// or one quadruple (codes) for 16 outputs.
#if defined(MHA_OPS_NATIVE_TILED_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_TILED_INL_HPP
#undef MHA_OPS_NATIVE_TILED_INL_HPP
#else
#define MHA_OPS_NATIVE_TILED_INL_HPP
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/native/layout.hpp"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileBytes = 1024;
constexpr std::size_t kTileRow = 64;
constexpr std::size_t kPanel = 2 * kTileRows;
constexpr std::size_t kBlock = 2 * kTileRows;

/// Input columns of a step of bfloat16 pairs, and of a step of codes.
constexpr std::size_t kPairStep = 32;
constexpr std::size_t kCodeStep = 64;

/// Bytes of one step of a panel, or of a block of rows, with its parts side by side: [part][2 tiles]. Everything that a
/// product reads is one run of memory, which the hardware fetches ahead.
template <std::size_t Parts>
constexpr std::size_t kPartsBytes = Parts * 2 * kTileBytes;

/// Bytes of one stored step of weights: two tiles per part; three parts are split from float32 when they are read.
template <std::size_t Parts>
constexpr std::size_t kStoredBytes = (Parts == 1 ? 2 : 4) * kTileBytes;

/// The same for weights that are codes, multiplied as bfloat16: [2 tiles][16 pairs of input columns][16 outputs][2],
/// one byte each.
constexpr std::size_t kCodePairBytes = kTileBytes;
/// The same for products of codes.
constexpr std::size_t kCodeBytes = 2 * kTileBytes;

/// 16 floats of which `count` are in memory; the others are zero.
HWY_INLINE __m512 LoadSome(const float* from, std::size_t count) {
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xFFFFU : (1U << count) - 1U);
  return _mm512_maskz_loadu_ps(mask, from);
}

/// Where element (row, column) of the first part lies in a tiled operand; the other parts follow 2 tiles apart each.
template <std::size_t Parts>
HWY_INLINE std::byte* TiledAt(const native::Operand& operand, std::size_t row, std::size_t column) {
  constexpr std::size_t kColumns = kTileRow / sizeof(std::uint16_t);
  return operand.data + row / kBlock * operand.stride + column / kColumns * kPartsBytes<Parts> +
         row % kBlock * kTileRow + column % kColumns * sizeof(std::uint16_t);
}

/// 16 rows of 16 32-bit elements: columns become rows.
HWY_INLINE void Transpose16(__m512i* r) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

/// Codes of 16 outputs, `depth` each (a multiple of 64), into their column of tiles.
inline void PackCodes(const std::int8_t* rows, std::size_t depth, std::byte* to) {
  for (std::size_t k = 0; k < depth; k += kCodeStep, to += kCodeBytes) {
    __m512i quads[kTileRows];
    for (std::size_t n = 0; n < kTileRows; ++n) quads[n] = _mm512_loadu_si512(rows + n * depth + k);
    Transpose16(quads);
    for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(to + n * kTileRow, quads[n]);
  }
}

/// Codes of 16 outputs, `depth` each (a multiple of 32), into their column of tiles.
inline void PackCodePairs(const std::int8_t* rows, std::size_t depth, std::byte* to) {
  for (std::size_t k = 0; k < depth; k += kPairStep, to += kCodePairBytes) {
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

/// Rows as codes 0…255, one step and one zero per row, into tiles of 16 rows × 64 columns. The range of a row reaches
/// from its least value to its largest, 0 included: after GELU nearly all of it is on one side. Scaled: columns are
/// multiplied by `scale` first.
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
      const __m512 value = LoadSome(from + c, left);
      return Scaled ? _mm512_mul_ps(value, LoadSome(scale + c, left)) : value;
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
      std::byte* at = to + c / kCodeStep * kCodeBytes + c % kCodeStep;
      _mm_store_si128(reinterpret_cast<__m128i*>(at), _mm512_cvtusepi32_epi8(codes));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
