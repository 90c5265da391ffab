#pragma once

#include <cstddef>
#include <cstdint>

#include "mha/core/tensor.hpp"

namespace mha {

/// Whether `to_float32` takes this type: F32, F16, BF16, F64. (I8 needs a scale: `row_to_float32`.)
bool is_float_type(DType type);

/// Elements [begin, begin + count) of a float view as float32, row-major: F64 is rounded to nearest, the others are
/// exact. The view need not be aligned. Throws Error{model} `weights: expected …` for other types.
void to_float32(const TensorView& view, std::size_t begin, std::size_t count, float* out);

/// Row `row` of a view [rows, …] as float32. I8 is multiplied by element `row` of `scale` (F32 [rows], which the caller
/// has checked); float types are taken as above.
void row_to_float32(const TensorView& view, const TensorView& scale, std::size_t row, float* out);

/// out[i] = round(x[i] / step), in [−127, 127], step = max|x| / 127: symmetric, one step a row. Returns the step (0 for
/// a row of zeros, whose codes are 0). Ties to even.
float quantize_row(const float* x, std::int8_t* out, std::size_t count);

}  // namespace mha
