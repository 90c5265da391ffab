// Integer products of rows of codes with panels of codes, by the instructions of one CPU level. The including file
// defines MHA_BEFORE_CODES, that level, MHA_CODES_TARGET if the level belongs to one of Highway's, and a class `Dot`
// with its instruction:
//   kGroup                    input columns of a step
//   Element                   of an operand
//   load(const std::int8_t*)  the weights of one vector of outputs
//   add(sums, x, weights)     sums of one vector of outputs plus a group of the input, broadcast, times the weights
#if defined(MHA_OPS_NATIVE_CODES_DOT_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_CODES_DOT_INL_HPP
#undef MHA_OPS_NATIVE_CODES_DOT_INL_HPP
#else
#define MHA_OPS_NATIVE_CODES_DOT_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "ops/native/codes/code_engine.hpp"
#include "ops/native/codes/panel-inl.hpp"
#include "ops/native/levels.hpp"
#include "ops/native/row_groups-inl.hpp"

#if !defined(MHA_CODES_TARGET) || HWY_TARGET == MHA_CODES_TARGET

MHA_BEFORE_CODES();
namespace mha {
namespace HWY_NAMESPACE {

// Sums of kCodeRows × kCodeVectors registers, the weights of a step and one group of the input fit the register file.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr std::size_t kCodeRows = 8;
#elif HWY_TARGET <= HWY_AVX2
constexpr std::size_t kCodeRows = 6;
#else
constexpr std::size_t kCodeRows = 4;
#endif

using native::CodeProduct;

/// Rows [row, row + Rows) of the product. A function of its own: inlined beside others, GCC 12 keeps the sums in
/// memory.
template <class Dot, std::size_t Rows>
HWY_NOINLINE void MultiplyCodeRows(const CodeProduct& product, std::size_t row) {
  const I32 di;
  const std::size_t lanes = hn::Lanes(di);
  const std::size_t vector_bytes = lanes * Dot::kGroup;
  const std::byte* codes = product.codes + row * product.stride;
  const std::size_t code_stride = product.stride;
  const std::int8_t* weights = product.weights;
  auto* sums = reinterpret_cast<std::int32_t*>(product.sums.data + row * product.sums.stride);
  const std::size_t stride = product.sums.stride;
  hn::Vec<I32> s[Rows][kCodeVectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kCodeVectors; ++v) {
      s[r][v] = product.accumulate ? hn::LoadU(di, sums + r * stride + v * lanes) : hn::Zero(di);
    }
  }
  for (std::size_t step = 0; step < product.steps; ++step) {
    typename Dot::Weights columns[kCodeVectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kCodeVectors; ++v) columns[v] = Dot::load(weights + v * vector_bytes);
    weights += kCodeVectors * vector_bytes;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      std::int32_t group;
      static_assert(sizeof group == Dot::kGroup * sizeof(typename Dot::Element));
      std::memcpy(&group, codes + r * code_stride, sizeof group);
      const auto x = hn::Set(di, group);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kCodeVectors; ++v) s[r][v] = Dot::add(s[r][v], x, columns[v]);
    }
    codes += sizeof(std::int32_t);
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kCodeVectors; ++v) {
      hn::StoreU(s[r][v], di, sums + r * stride + v * lanes);
    }
  }
}

/// A block of rows in groups of nearly equal size, in runs of the depth whose weights stay in the first-level cache
/// while all rows meet them.
template <class Dot>
void MultiplyCodes(const CodeProduct& product) {
  constexpr std::size_t kRunBytes = 8192;
  const std::size_t step_bytes = CodePanelWidth() * Dot::kGroup;
  const std::size_t run = kRunBytes / step_bytes;
  const std::size_t rows = product.sums.rows;
  const std::size_t groups = (rows + kCodeRows - 1) / kCodeRows;
  for (std::size_t step = 0; step < product.steps; step += run) {
    CodeProduct part = product;
    part.codes += step * sizeof(std::int32_t);
    part.weights += step * step_bytes;
    part.steps = std::min(run, product.steps - step);
    part.accumulate = product.accumulate || step > 0;
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t row = rows * group / groups;
      ForCount<kCodeRows>(rows * (group + 1) / groups - row,
                          [&](auto count) HWY_ATTR { MultiplyCodeRows<Dot, decltype(count)::value>(part, row); });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
