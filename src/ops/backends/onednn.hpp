#pragma once

#include "mha/ops/backend.hpp"

namespace mha {

/// Packed float32 matmul of libdnnl (oneDNN 2.6), loaded at the first call. Throws Error{usage} where the library is
/// not installed or this build knows no header of it.
const Backend& onednn_backend();

/// Whether this build can load it.
bool onednn_built();

}  // namespace mha
