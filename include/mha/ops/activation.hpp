#pragma once

namespace mha {

/// The forms of non-linearity that references use. `gelu` is the erf form, `gelu_tanh` the tanh approximation.
enum class Activation { none, relu, gelu, gelu_tanh, quick_gelu, silu, tanh, relu_squared };

}  // namespace mha
