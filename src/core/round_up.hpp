#pragma once

#include <cstddef>

namespace mha {

/// ⌈value / unit⌉.
constexpr std::size_t divide_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit; }
/// The least multiple of `unit` that is not below `value`.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return divide_up(value, unit) * unit; }

}  // namespace mha
