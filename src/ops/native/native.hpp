#pragma once

#include "mha/ops/backend.hpp"

namespace mha {

/// Our own kernels: packed panels of weights, arithmetic chosen from the CPU's features (AMX, AVX-512, AVX2).
/// Row i of a result depends on row i of the input alone, bit for bit, in every precision.
const Backend& native_backend();

}  // namespace mha
