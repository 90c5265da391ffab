#pragma once

#include <cstddef>

namespace mha {

/// x[i] = exp(x[i] − max) / Σ exp(x[j] − max), in place, exact two-pass form. count ≥ 1; −∞ is allowed for
/// some entries, not for all. Each result is within 8 ULP + count·2⁻²⁴ relative of the exact value (where that is a
/// normal number); what lies below 2⁻¹²⁶ becomes zero.
void softmax(float* x, std::size_t count);

/// The same over the entries [begin, end) of the row; all others become zero (a local window).
void softmax_window(float* x, std::size_t count, std::size_t begin, std::size_t end);

}  // namespace mha
