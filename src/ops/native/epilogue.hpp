#pragma once

#include <cstddef>
#include <cstdint>

#include "mha/ops/activation.hpp"
#include "ops/native/layout.hpp"

namespace mha::native {

/// What becomes of the sums of one panel: activation(sums · scale + bias) + residual goes to y, or into an operand if y
/// is nullptr. Pointers are to row 0 of the call and to the panel's first column.
struct Epilogue {
  const float* bias = nullptr;
  const float* scale = nullptr;             // of sums, before the bias; nullptr: none
  const RowCode* codes = nullptr;           // int8: sums are int32, of codes of these rows
  const std::int32_t* code_sums = nullptr;  // int8: Σ codes of a column
  Activation activation = Activation::none;
  std::size_t result_bits = 24;  // significant bits that the reader of the result keeps
  const float* residual = nullptr;
  std::size_t residual_stride = 0;
  float* y = nullptr;
  std::size_t y_stride = 0;
  Operand operand;
  std::size_t column = 0;  // of the operand
  std::size_t cols = 0;
};

/// Results that are rounded to bfloat16 or to codes may come from a cheaper activation.
inline bool allows_coarse_activation(const Epilogue& epilogue) { return epilogue.result_bits <= 8; }

/// Writes the results of an epilogue that has a y; epilogue.cols ≤ panel.
void store_rows(const Epilogue& epilogue, const SumBlock& sums);

}  // namespace mha::native
