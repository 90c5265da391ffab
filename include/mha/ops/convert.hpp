#pragma once

#include <cstddef>
#include <cstdint>

#include "mha/core/tensor.hpp"

namespace mha {

/// Elements [begin, begin + count) of a float view (F32, F16, BF16, F64) as float32; F64 is rounded to nearest, the
/// others are exact. Throws Error{model} `weights: expected …` for integer types. The view need not be aligned.
void to_float32(const TensorView& view, std::size_t begin, std::size_t count, float* out);

/// Row `row` of a [rows, cols] view as float32: I8 is multiplied by `scale` element `row` (F32 [rows]), others as above.
void row_to_float32(const TensorView& view, const TensorView& scale, std::size_t row, float* out);

/// Rounded to nearest, ties to even; NaN stays NaN.
void to_bfloat16(const float* x, std::uint16_t* out, std::size_t count);

/// out[i] = round(x[i] / step), in [−127, 127], step = max|x| / 127: symmetric, one step a row. Returns the step (0 for a row
/// of zeros, whose codes are 0). Ties to even.
float quantize_row(const float* x, std::int8_t* out, std::size_t count);

}  // namespace mha
