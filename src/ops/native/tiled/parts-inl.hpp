// Numbers as sums of bfloat16 parts in the tiled arrangement (Henry, Tang & Heinecke 2019). Needs AVX512_BF16.
#if defined(MHA_OPS_NATIVE_PARTS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_PARTS_INL_HPP
#undef MHA_OPS_NATIVE_PARTS_INL_HPP
#else
#define MHA_OPS_NATIVE_PARTS_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/native/levels.hpp"
#include "ops/native/tiled/tiled-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AVX512_BF16();
namespace mha {
namespace HWY_NAMESPACE {

/// Rounds x to bfloat16 and leaves the remainder in x.
HWY_INLINE __m256i SplitOff(__m512& x) {
  const __m256i part = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16)));
  return part;
}

/// x as the sum of its parts, each in its own pair of tiles.
template <std::size_t Parts>
HWY_INLINE void StoreParts(__m512 x, std::byte* to) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  for (std::size_t p = 0; p + 1 < Parts; ++p)
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + p * kPart), SplitOff(x));
  const __m256i last = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to + (Parts - 1) * kPart), last);
}

/// Rows as parts, into tiles; columns from x.cols up to `cols` become zero.
template <std::size_t Parts>
void ConvertRows(ConstMatrix x, const native::Operand& operand, std::size_t cols) {
  constexpr std::size_t kLanes = 16;
  const std::size_t whole = x.cols / kPairStep * kPairStep;
  // Step by step within a block of rows: the tiles of a step are one run of memory.
  for (std::size_t first = 0; first < x.rows; first += kBlock) {
    const std::size_t rows = std::min(kBlock, x.rows - first);
    std::byte* to = TiledAt<Parts>(operand, first, 0);
    std::size_t c = 0;
    for (; c < whole; c += kPairStep, to += kPartsBytes<Parts>) {
      for (std::size_t r = 0; r < rows; ++r) {
        const float* from = x.row(first + r) + c;
        StoreParts<Parts>(_mm512_loadu_ps(from), to + r * kTileRow);
        StoreParts<Parts>(_mm512_loadu_ps(from + kLanes), to + r * kTileRow + kTileRow / 2);
      }
    }
    for (; c < cols; c += kLanes) {
      const std::size_t left = x.cols > c ? x.cols - c : 0;
      for (std::size_t r = 0; r < rows; ++r) {
        StoreParts<Parts>(LoadSome(x.row(first + r) + c, left), TiledAt<Parts>(operand, first + r, c));
      }
    }
  }
}
/// Weights of 16 outputs, `depth` floats each (a multiple of 32), into their column of tiles.
template <std::size_t Parts>
void PackOutputs(const float* rows, std::size_t depth, std::byte* to) {
  for (std::size_t k = 0; k < depth; k += kPairStep, to += kStoredBytes<Parts>) {
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

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
