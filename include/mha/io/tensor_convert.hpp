#pragma once

#include <span>
#include <string_view>

#include "mha/core/tensor.hpp"

namespace mha {

/// Whether `to_float32` takes this type without a scale: F32, F16, BF16, F64.
bool is_float_type(DType type);

/// Writes the tensor's `view.size()` elements to `out`, row-major, as float32: F16 and BF16 exactly, F64 rounded to
/// nearest. The data need not be aligned. Errors: model for another type, naming the tensor as `name`.
void to_float32(const TensorView& view, std::string_view name, std::span<float> out);

/// The same for I8 with one float32 scale a row: `out[r, c] = view[r, c] · scale[r]`; view [rows, …], scale [rows].
void to_float32(const TensorView& view, const TensorView& scale, std::string_view name, std::span<float> out);

}  // namespace mha
