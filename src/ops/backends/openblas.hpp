#pragma once

#include <utility>
#include <vector>

#include "mha/ops/backend.hpp"

namespace mha {

/// cblas_sgemm of libopenblas, loaded at the first call. Throws Error{usage} where the library is not installed.
/// Row blocks are cut at fixed places, so results do not depend on threads; they may depend on the batch, because
/// OpenBLAS chooses kernels by size.
const Backend& openblas_backend();

/// Names and values of variables that OpenBLAS reads when it is loaded, for a program to set: the kernels that suit
/// this CPU, and no threads of its own. Without them it makes its own choice of kernels, and threads that stay idle.
std::vector<std::pair<const char*, const char*>> openblas_variables();

}  // namespace mha
