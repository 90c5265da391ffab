// Products of tiled operands by the dot products of AVX-512: pairs of bfloat16, or quadruples of codes. The including
// file defines MHA_BEFORE_DOT, the level of its instruction, and the class `Dot` that calls it.
#if defined(MHA_OPS_NATIVE_DOT_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_DOT_INL_HPP
#undef MHA_OPS_NATIVE_DOT_INL_HPP
#else
#define MHA_OPS_NATIVE_DOT_INL_HPP
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "ops/native/levels.hpp"
#include "ops/native/tiled/tiled-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_DOT();
namespace mha {
namespace HWY_NAMESPACE {

/// One product by dot products: sums (+)= rows · weights.
struct DotProduct {
  const std::byte* rows;     // of one block of an operand
  const std::byte* weights;  // of one panel
  std::size_t steps;
  float* sums;
  std::size_t stride;  // floats
  bool accumulate;
};

/// sums [Rows, kPanel] (+)= rows · weights, the rows of the sums product.stride floats apart. A register holds a row of
/// a tile of weights; one pair or quadruple of the input is broadcast and goes through `Dot::add(sum, x, weights)`.
template <class Dot, std::size_t Rows>
HWY_INLINE void DotGroup(const DotProduct& product) {
  const std::byte* rows = product.rows;
  const std::byte* weights = product.weights;
  auto* sums = reinterpret_cast<std::byte*>(product.sums);
  const std::size_t stride = product.stride * sizeof(float);
  __m512i s[Rows][2];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) {
      s[r][v] = product.accumulate ? _mm512_loadu_si512(sums + r * stride + v * kTileRow) : _mm512_setzero_si512();
    }
  }
  for (std::size_t step = 0; step < product.steps; ++step, rows += 2 * kTileBytes, weights += 2 * kTileBytes) {
    for (std::size_t k = 0; k < kTileRows; ++k) {
      const __m512i left = _mm512_load_si512(weights + k * kTileRow);
      const __m512i right = _mm512_load_si512(weights + kTileBytes + k * kTileRow);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < Rows; ++r) {
        std::int32_t element;
        std::memcpy(&element, rows + r * kTileRow + k * sizeof element, sizeof element);
        const __m512i x = _mm512_set1_epi32(element);
        s[r][0] = Dot::add(s[r][0], x, left);
        s[r][1] = Dot::add(s[r][1], x, right);
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < 2; ++v) _mm512_storeu_si512(sums + r * stride + v * kTileRow, s[r][v]);
  }
}

/// The same for the `count` rows of a block.
template <class Dot>
void DotBlock(DotProduct product, std::size_t count) {
  std::size_t r = 0;
  const auto group = [&](auto size) {
    constexpr std::size_t kSize = decltype(size)::value;
    DotGroup<Dot, kSize>(product);
    product.rows += kSize * kTileRow;
    product.sums += kSize * product.stride;
    r += kSize;
  };
  while (r + 8 <= count) group(std::integral_constant<std::size_t, 8>());
  if (r + 4 <= count) group(std::integral_constant<std::size_t, 4>());
  while (r < count) group(std::integral_constant<std::size_t, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
