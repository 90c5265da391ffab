// Four vectors that go through the same function side by side. One vector's chain of dependent instructions would fill
// the CPU's scheduler before the next could start; interleaved chains keep the ports busy.
#if defined(MHA_OPS_WIDE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_WIDE_INL_HPP
#undef MHA_OPS_WIDE_INL_HPP
#else
#define MHA_OPS_WIDE_INL_HPP
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;
using M32 = hn::Mask<F32>;

constexpr std::size_t kWide = 4;

/// The tag, the vectors and the masks of four. Constructors are written out because a compiler's own would not have the
/// target attributes that those of the vectors need on arm64.
struct WideF32 {};
struct Wide {
  HWY_INLINE Wide() {}
  HWY_INLINE Wide(V32 first, V32 second, V32 third, V32 fourth) : v{first, second, third, fourth} {}
  V32 v[kWide];
};
struct WideMask {
  HWY_INLINE WideMask() {}
  M32 v[kWide];
};

#define MHA_WIDE_LOOP(result, expression) \
  _Pragma("GCC unroll 4") for (std::size_t i = 0; i < kWide; ++i)(result).v[i] = (expression)

HWY_INLINE Wide Set(WideF32, float value) {
  const V32 lane = hn::Set(F32(), value);
  return {lane, lane, lane, lane};
}
HWY_INLINE Wide Zero(WideF32 d) { return Set(d, 0.0F); }

#define MHA_WIDE_UNARY(name)            \
  HWY_INLINE Wide name(const Wide& a) { \
    Wide r;                             \
    MHA_WIDE_LOOP(r, hn::name(a.v[i])); \
    return r;                           \
  }
#define MHA_WIDE_BINARY(name)                          \
  HWY_INLINE Wide name(const Wide& a, const Wide& b) { \
    Wide r;                                            \
    MHA_WIDE_LOOP(r, hn::name(a.v[i], b.v[i]));        \
    return r;                                          \
  }
#define MHA_WIDE_TERNARY(name)                                        \
  HWY_INLINE Wide name(const Wide& a, const Wide& b, const Wide& c) { \
    Wide r;                                                           \
    MHA_WIDE_LOOP(r, hn::name(a.v[i], b.v[i], c.v[i]));               \
    return r;                                                         \
  }
#define MHA_WIDE_COMPARE(name)                             \
  HWY_INLINE WideMask name(const Wide& a, const Wide& b) { \
    WideMask r;                                            \
    MHA_WIDE_LOOP(r, hn::name(a.v[i], b.v[i]));            \
    return r;                                              \
  }
MHA_WIDE_UNARY(Abs)
MHA_WIDE_UNARY(Neg)
MHA_WIDE_BINARY(Add)
MHA_WIDE_BINARY(Sub)
MHA_WIDE_BINARY(Mul)
MHA_WIDE_BINARY(Div)
MHA_WIDE_BINARY(Min)
MHA_WIDE_BINARY(Max)
MHA_WIDE_BINARY(CopySign)
MHA_WIDE_TERNARY(MulAdd)
MHA_WIDE_TERNARY(MulSub)
MHA_WIDE_TERNARY(NegMulAdd)
MHA_WIDE_COMPARE(Lt)
MHA_WIDE_COMPARE(Gt)
#undef MHA_WIDE_UNARY
#undef MHA_WIDE_BINARY
#undef MHA_WIDE_TERNARY
#undef MHA_WIDE_COMPARE

HWY_INLINE Wide IfThenElse(const WideMask& mask, const Wide& yes, const Wide& no) {
  Wide r;
  MHA_WIDE_LOOP(r, hn::IfThenElse(mask.v[i], yes.v[i], no.v[i]));
  return r;
}
HWY_INLINE Wide IfThenZeroElse(const WideMask& mask, const Wide& no) {
  Wide r;
  MHA_WIDE_LOOP(r, hn::IfThenZeroElse(mask.v[i], no.v[i]));
  return r;
}

/// x·2^n for whole n in [−126, 127].
HWY_INLINE V32 TimesPowerOfTwo(V32 x, V32 n) {
#if HWY_TARGET <= HWY_AVX3
  return V32{_mm512_scalef_ps(x.raw, n.raw)};
#else
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(x, hn::BitCast(d, exponent));
#endif
}
HWY_INLINE Wide TimesPowerOfTwo(const Wide& x, const Wide& n) {
  Wide r;
  MHA_WIDE_LOOP(r, TimesPowerOfTwo(x.v[i], n.v[i]));
  return r;
}

/// 1/x for normal x ≥ 1, 1 ULP: an estimate and a Newton step cost less than a division.
HWY_INLINE V32 Reciprocal(V32 x) {
#if HWY_TARGET <= HWY_AVX3
  const V32 estimate{_mm512_rcp14_ps(x.raw)};
  return hn::MulAdd(estimate, hn::NegMulAdd(x, estimate, hn::Set(F32(), 1.0F)), estimate);
#else
  return hn::Div(hn::Set(F32(), 1.0F), x);
#endif
}
HWY_INLINE Wide Reciprocal(const Wide& x) {
#if HWY_TARGET <= HWY_AVX3
  Wide estimate;
  MHA_WIDE_LOOP(estimate, (V32{_mm512_rcp14_ps(x.v[i].raw)}));
  return MulAdd(estimate, NegMulAdd(x, estimate, Set(WideF32(), 1.0F)), estimate);
#else
  return Div(Set(WideF32(), 1.0F), x);
#endif
}

#undef MHA_WIDE_LOOP

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
