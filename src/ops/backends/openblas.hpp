#pragma once

#include "mha/ops/backend.hpp"

namespace mha {

/// cblas_sgemm of libopenblas, loaded at the first call. Throws Error{usage} where the library is not installed.
/// Row blocks are cut at fixed places, so results do not depend on threads; they may depend on the batch, because
/// OpenBLAS chooses kernels by size.
const Backend& openblas_backend();

}  // namespace mha
