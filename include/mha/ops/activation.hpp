#pragma once

#include <cstddef>

namespace mha {

/// The forms of non-linearity that references use. `gelu` is the erf form, `gelu_tanh` the tanh approximation.
enum class Activation { none, relu, gelu, gelu_tanh, quick_gelu, silu, tanh, relu_squared };

/// x[i] = activation(x[i]) in place, i < count. An element's result depends on its value alone.
///
/// Largest error against the exact function in ULP of the result, for results of at least 2⁻¹¹⁸ (smaller results may be
/// any number below that). Tests check: relu and relu_squared 0.5; tanh and silu 4; gelu 6. In the far negative tail,
/// rounding of constants and argument counts: quick_gelu 20, gelu_tanh 170; on CPUs without FMA, gelu and
/// quick_gelu 80.
///   gelu         x · Φ(x) = x/2 · (1 + erf(x/√2))                     (Hendrycks & Gimpel 2016, §2)
///   gelu_tanh    x/2 · (1 + tanh(√(2/π) · (x + 0.044715·x³)))         (the same, approximation)
///   quick_gelu   x · σ(1.702·x)
///   silu         x · σ(x)
void activate(Activation activation, float* x, std::size_t count);

/// x[i] = activation(x[i]) · gate[i]: gated feed-forward layers (Shazeer 2020).
void activate_gated(Activation activation, float* x, const float* gate, std::size_t count);

}  // namespace mha
