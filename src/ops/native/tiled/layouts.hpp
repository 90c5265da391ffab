#pragma once

#include "ops/native/layout.hpp"

/// The tiled arrangement of panels and operands, which AMX and the AVX-512 dot products share. tiled-inl.hpp draws it.
/// On x86-64 only; each may be used if the CPU has the instructions named.
namespace mha::native {

/// Operands and weights as sums of 1, 2 or 3 bfloat16 parts. AVX512_BF16.
const Layout& layout_of_parts(std::size_t parts);
/// The same operands, for weights that are codes in their file and stay so. AVX512_BF16.
const Layout& layout_of_code_weights(std::size_t parts);
/// Codes on both sides: one step per row of weights, one step and one zero per row of the input. AVX-512.
const Layout& layout_of_codes();

}  // namespace mha::native
