#pragma once

#include "ops/native/layout.hpp"

/// The arrangement of codes for CPUs without tiles: operands are rows of codes, and a step of a panel is one group of
/// input columns for each of its outputs, [outputs][group]. dot-inl.hpp multiplies them.
namespace mha::native {

/// Groups of two: weights of 8 bits, operands of 8 bits (codes 0…255) in 16-bit elements.
const Layout& layout_of_code_pairs();
/// The same panels, operands of up to 15 bits: as many as the depth allows without an overflow of int32 sums.
const Layout& layout_of_wide_code_pairs();
/// Groups of four: weights and operands (codes 0…255) of 8 bits.
const Layout& layout_of_code_quadruples();

}  // namespace mha::native
