#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "io/npy.hpp"

namespace mha {

/// Bytes of one element.
std::size_t size_of(NpyType type);

/// Everything before an array's data: magic, version and description. The padding makes it a multiple of 64 bytes, and
/// the same size for every first extent.
std::string npy_header(NpyType type, std::span<const std::size_t> shape);

}  // namespace mha
