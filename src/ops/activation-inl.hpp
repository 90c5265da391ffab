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

HWY_INLINE V32 Relu(F32 d, V32 x) { return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x); }

HWY_INLINE V32 ReluSquared(F32 d, V32 x) {
  const V32 positive = Relu(d, x);
  return hn::Mul(positive, positive);
}

HWY_INLINE V32 Silu(F32 d, V32 x) { return SigmoidProduct(d, x, x, hn::Zero(d)); }

HWY_INLINE V32 QuickGelu(F32 d, V32 x) {
  // Beyond |x| = 60 the sigmoid is 0 or 1 in float32.
  const V32 slope = hn::Set(d, 1.702F);
  const V32 bounded = hn::Max(hn::Set(d, -60.0F), hn::Min(hn::Set(d, 60.0F), x));
  const V32 z = hn::Mul(bounded, slope);
  return SigmoidProduct(d, x, z, hn::MulSub(bounded, slope, z));
}

HWY_INLINE V32 GeluTanh(F32 d, V32 x) {
  // x/2·(1 + tanh u) = x·σ(2u). Beyond |x| = 20 the sigmoid is 0 or 1 in float32, and x³ must not overflow.
  const V32 bounded = hn::Max(hn::Set(d, -20.0F), hn::Min(hn::Set(d, 20.0F), x));
  const V32 cubic = hn::MulAdd(hn::Mul(bounded, bounded), hn::Set(d, 0.0713548163F), hn::Set(d, 1.59576912F));
  return SigmoidProduct(d, x, hn::Mul(bounded, cubic), hn::Zero(d));
}

/// Calls `use` with the function of one vector; the switch stands outside the loop.
template <class Use>
HWY_INLINE void WithActivation(Activation activation, const Use& use) {
  switch (activation) {
    case Activation::none: return use([](F32, V32 x) { return x; });
    case Activation::relu: return use([](F32 d, V32 x) { return Relu(d, x); });
    case Activation::gelu: return use([](F32 d, V32 x) { return Gelu(d, x); });
    case Activation::gelu_tanh: return use([](F32 d, V32 x) { return GeluTanh(d, x); });
    case Activation::quick_gelu: return use([](F32 d, V32 x) { return QuickGelu(d, x); });
    case Activation::silu: return use([](F32 d, V32 x) { return Silu(d, x); });
    case Activation::tanh: return use([](F32 d, V32 x) { return Tanh(d, x); });
    case Activation::relu_squared: return use([](F32 d, V32 x) { return ReluSquared(d, x); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
