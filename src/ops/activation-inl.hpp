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
HWY_INLINE V Relu(D d, V x) {
  return IfThenElse(Lt(x, Zero(d)), Zero(d), x);
}

template <class D, class V>
HWY_INLINE V ReluSquared(D d, V x) {
  const V positive = Relu(d, x);
  return Mul(positive, positive);
}

template <class D, class V>
HWY_INLINE V Silu(D d, V x) {
  return SigmoidProduct(d, x, x, Zero(d));
}

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

/// GELU for operands that are rounded to eight bits next: x·(1/2 + x·P(x²)) on |x| ≤ 5, within 2⁻¹² of the exact value
/// everywhere, at a third of the cost.
template <class D, class V>
HWY_INLINE V CoarseGelu(D d, V x) {
  const V limit = Set(d, 5.0F);
  const V bounded = Max(Neg(limit), Min(limit, x));
  const V square = Mul(bounded, bounded);
  V p = Set(d, -5.907527512200233e-13F);
  p = MulAdd(p, square, Set(d, 8.566824835152593e-11F));
  p = MulAdd(p, square, Set(d, -5.490822736678721e-09F));
  p = MulAdd(p, square, Set(d, 2.05884482975393e-07F));
  p = MulAdd(p, square, Set(d, -5.04987951397546e-06F));
  p = MulAdd(p, square, Set(d, 8.606528507811214e-05F));
  p = MulAdd(p, square, Set(d, -0.0010589541165704564F));
  p = MulAdd(p, square, Set(d, 0.009639748099101503F));
  p = MulAdd(p, square, Set(d, -0.0660514655629982F));
  p = MulAdd(p, square, Set(d, 0.39874016727214506F));
  return Mul(x, MulAdd(bounded, p, Set(d, 0.5F)));
}

// Inlined into the loops that use them: a call would pass vectors through memory.
#define MHA_ACTIVATION_FUNCTION(name)                \
  struct name##Function {                            \
    template <class D, class V>                      \
    HWY_INLINE V operator()(D d, const V& x) const { \
      return name(d, x);                             \
    }                                                \
  };
MHA_ACTIVATION_FUNCTION(Relu)
MHA_ACTIVATION_FUNCTION(Gelu)
MHA_ACTIVATION_FUNCTION(CoarseGelu)
MHA_ACTIVATION_FUNCTION(GeluTanh)
MHA_ACTIVATION_FUNCTION(QuickGelu)
MHA_ACTIVATION_FUNCTION(Silu)
MHA_ACTIVATION_FUNCTION(Tanh)
MHA_ACTIVATION_FUNCTION(ReluSquared)
#undef MHA_ACTIVATION_FUNCTION

struct IdentityFunction {
  template <class D, class V>
  HWY_INLINE V operator()(D, const V& x) const {
    return x;
  }
};

/// Calls `use` with the function of one vector; the switch stands outside the loop.
template <class Use>
HWY_INLINE void WithActivation(Activation activation, bool coarse, const Use& use) {
  if (coarse && activation == Activation::gelu) return use(CoarseGeluFunction());
  switch (activation) {
    case Activation::none:
      return use(IdentityFunction());
    case Activation::relu:
      return use(ReluFunction());
    case Activation::gelu:
      return use(GeluFunction());
    case Activation::gelu_tanh:
      return use(GeluTanhFunction());
    case Activation::quick_gelu:
      return use(QuickGeluFunction());
    case Activation::silu:
      return use(SiluFunction());
    case Activation::tanh:
      return use(TanhFunction());
    case Activation::relu_squared:
      return use(ReluSquaredFunction());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
