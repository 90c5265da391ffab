// Activations of one vector.
#if defined(MHA_OPS_ACTIVATION_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_ACTIVATION_INL_HPP
#undef MHA_OPS_ACTIVATION_INL_HPP
#else
#define MHA_OPS_ACTIVATION_INL_HPP
#endif

#include "mha/ops/activation.hpp"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

template <class D, class V>
HWY_INLINE V Relu(D d, V x) { return IfThenElse(Lt(x, Zero(d)), Zero(d), x); }

template <class D, class V>
HWY_INLINE V ReluSquared(D d, V x) {
  const V positive = Relu(d, x);
  return Mul(positive, positive);
}

template <class D, class V>
HWY_INLINE V Silu(D d, V x) { return SigmoidProduct(d, x, x, Zero(d)); }

template <class D, class V>
HWY_INLINE V QuickGelu(D d, V x) {
  // Beyond |x| = 60 the sigmoid is 0 or 1 in float32.
  const V slope = Set(d, 1.702F);
  const V bounded = Max(Set(d, -60.0F), Min(Set(d, 60.0F), x));
  const V z = Mul(bounded, slope);
  return SigmoidProduct(d, x, z, MulSub(bounded, slope, z));
}

template <class D, class V>
HWY_INLINE V GeluTanh(D d, V x) {
  // x/2·(1 + tanh u) = x·σ(2u). Beyond |x| = 20 the sigmoid is 0 or 1 in float32, and x³ must not overflow.
  const V bounded = Max(Set(d, -20.0F), Min(Set(d, 20.0F), x));
  const V cubic = MulAdd(Mul(bounded, bounded), Set(d, 0.0713548163F), Set(d, 1.59576912F));
  return SigmoidProduct(d, x, Mul(bounded, cubic), Zero(d));
}

/// Calls `use` with the function of one vector; the switch stands outside the loop.
template <class Use>
HWY_INLINE void WithActivation(Activation activation, const Use& use) {
  switch (activation) {
    case Activation::none: return use([](auto, const auto& x) { return x; });
    case Activation::relu: return use([](auto d, const auto& x) { return Relu(d, x); });
    case Activation::gelu: return use([](auto d, const auto& x) { return Gelu(d, x); });
    case Activation::gelu_tanh: return use([](auto d, const auto& x) { return GeluTanh(d, x); });
    case Activation::quick_gelu: return use([](auto d, const auto& x) { return QuickGelu(d, x); });
    case Activation::silu: return use([](auto d, const auto& x) { return Silu(d, x); });
    case Activation::tanh: return use([](auto d, const auto& x) { return Tanh(d, x); });
    case Activation::relu_squared: return use([](auto d, const auto& x) { return ReluSquared(d, x); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
