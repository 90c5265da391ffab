#pragma once

#include "mha/ops/backend.hpp"

namespace mha {

/// Plain loops with sums in double: the oracle of the tests.
const Backend& reference_backend();

}  // namespace mha
