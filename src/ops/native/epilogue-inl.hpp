// The epilogue of a product, on a block of sums that is still in the first-level cache.
#if defined(MHA_OPS_NATIVE_EPILOGUE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_EPILOGUE_INL_HPP
#undef MHA_OPS_NATIVE_EPILOGUE_INL_HPP
#else
#define MHA_OPS_NATIVE_EPILOGUE_INL_HPP
#endif

#include "ops/activation-inl.hpp"
#include "ops/native/epilogue.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

/// sums · scale + bias of a vector in row `row`, from column `column` of the panel on. `load` reads a vector or its
/// rest.
template <class Load>
HWY_INLINE V32 ScaledAndBiased(const native::Epilogue& epilogue, const float* sums, std::size_t row, std::size_t column,
                               const Load& load) {
  const V32 bias = load(epilogue.bias + column);
  if (epilogue.codes != nullptr) {
    const native::RowCode& code = epilogue.codes[row];
    const hn::RebindToSigned<F32> di;
    const auto counts = hn::BitCast(di, load(sums + column));
    const auto code_sums = hn::BitCast(di, load(reinterpret_cast<const float*>(epilogue.code_sums + column)));
    const V32 sum = hn::ConvertTo(F32(), hn::Sub(counts, hn::Mul(hn::Set(di, code.zero), code_sums)));
    return hn::MulAdd(sum, hn::Mul(hn::Set(F32(), code.step), load(epilogue.scale + column)), bias);
  }
  return epilogue.scale == nullptr ? hn::Add(load(sums + column), bias)
                                   : hn::MulAdd(load(sums + column), load(epilogue.scale + column), bias);
}

/// Calls store(row, column, value, rest) for every vector of the block; `rest` counts the elements of a vector that is
/// not whole, and is 0 otherwise. Whole vectors go through the activation four at a time, across rows.
template <class Function, class Store>
HWY_INLINE void ForEachResult(const native::Epilogue& epilogue, const native::SumBlock& block, const Function& function,
                              const Store& store) {
  const float* sums = block.data;
  const std::size_t stride = block.stride;
  const std::size_t first = block.row;
  const std::size_t rows = block.rows;
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t whole = epilogue.cols / lanes * lanes;
  const auto load = [&](const float* from) { return hn::LoadU(d, from); };
  const auto add_residual = [&](V32 value, std::size_t r, std::size_t c) {
    return epilogue.residual == nullptr
               ? value
               : hn::Add(value, hn::LoadU(d, epilogue.residual + r * epilogue.residual_stride + c));
  };
  std::size_t row[kWide];
  std::size_t column[kWide];
  std::size_t waiting = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < whole; c += lanes) {
      row[waiting] = r;
      column[waiting] = c;
      if (++waiting < kWide) continue;
      waiting = 0;
      Wide x;
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kWide; ++i) {
        x.v[i] = ScaledAndBiased(epilogue, sums + row[i] * stride, first + row[i], column[i], load);
      }
      x = function(WideF32(), x);
#pragma GCC unroll 4
      for (std::size_t i = 0; i < kWide; ++i) {
        store(first + row[i], column[i], add_residual(x.v[i], first + row[i], column[i]), std::size_t{0});
      }
    }
  }
  for (std::size_t i = 0; i < waiting; ++i) {
    const std::size_t r = first + row[i];
    const V32 x = ScaledAndBiased(epilogue, sums + row[i] * stride, r, column[i], load);
    store(r, column[i], add_residual(function(d, x), r, column[i]), std::size_t{0});
  }
  if (whole == epilogue.cols) return;
  const std::size_t rest = epilogue.cols - whole;
  const auto load_rest = [&](const float* from) { return LoadRest(d, from, rest); };
  for (std::size_t r = first; r < first + rows; ++r) {
    V32 value = function(d, ScaledAndBiased(epilogue, sums + (r - first) * stride, r, whole, load_rest));
    if (epilogue.residual != nullptr)
      value = hn::Add(value, load_rest(epilogue.residual + r * epilogue.residual_stride + whole));
    store(r, whole, value, rest);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
