// Elementary functions on Highway vectors of float, or on four of them at a time, compiled once a CPU level by the
// files that include it. `d` and `x` are F32 and V32, or WideF32 and Wide.
#if defined(MHA_OPS_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_MATH_INL_HPP
#undef MHA_OPS_MATH_INL_HPP
#else
#define MHA_OPS_MATH_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/wide-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {
/// n and r of x = n·ln 2 + r, |r| ≤ ln 2 / 2 (Cody & Waite 1980: ln 2 in two parts); |x| ≤ 2²⁰.
template <class D, class V>
HWY_INLINE V ReduceByLn2(D d, V x, V& r) {
  // Adding 1.5·2²³ rounds to a whole number, to nearest.
  const V rounder = Set(d, 12582912.0F);
  const V n = Sub(MulAdd(x, Set(d, 1.44269504F), rounder), rounder);
  r = NegMulAdd(n, Set(d, 0.693145752F), x);
  r = NegMulAdd(n, Set(d, 1.42860677e-06F), r);
  return n;
}

/// (e^r − 1 − r) / r²; minimax on |r| ≤ ln 2 / 2, e^r within 2^-28 relative.
template <class D, class V>
HWY_INLINE V ExpTail(D d, V r) {
  V q = Set(d, 0.001381461298425669F);
  q = MulAdd(q, r, Set(d, 0.008368709842570418F));
  q = MulAdd(q, r, Set(d, 0.041668387366991314F));
  q = MulAdd(q, r, Set(d, 0.16666520689634848F));
  return MulAdd(q, r, Set(d, 0.49999993451680014F));
}

/// e^x, 1 ULP, for −87.33 ≤ x ≤ 88.
template <class D, class V>
HWY_INLINE V ExpInRange(D d, V x) {
  V r;
  const V n = ReduceByLn2(d, x, r);
  const V e = Add(MulAdd(Mul(r, r), ExpTail(d, r), r), Set(d, 1.0F));
  return TimesPowerOfTwo(e, n);
}

/// The same for any x ≤ 88: below −87.33 (results that are no normal numbers) zero. NaN stays NaN.
template <class D, class V>
HWY_INLINE V Exp(D d, V x) {
  return IfThenZeroElse(Lt(x, Set(d, -87.33654F)), ExpInRange(d, x));
}

/// log2 x of a normal x > 0, within 2^-25 + 2^-23·|log2 x|; −127 of 0. x = m·2^n with √½ ≤ m < √2, and ln m =
/// 2·artanh(s) for s = (m − 1)/(m + 1), |s| < 0.172, by its series up to s⁹.
HWY_INLINE V32 Log2(F32 d, V32 x) {
  const hn::RebindToSigned<F32> di;
  const auto bits = hn::BitCast(di, x);
  const auto n = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3F3504F3)));
  const V32 m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(n)));
  const V32 one = hn::Set(d, 1.0F);
  const V32 s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const V32 z = hn::Mul(s, s);
  V32 q = hn::Set(d, 0.3205989F);
  q = hn::MulAdd(q, z, hn::Set(d, 0.4121986F));
  q = hn::MulAdd(q, z, hn::Set(d, 0.5770780F));
  q = hn::MulAdd(q, z, hn::Set(d, 0.9617967F));
  q = hn::MulAdd(q, z, hn::Set(d, 2.8853901F));
  return hn::MulAdd(q, s, hn::ConvertTo(d, n));
}

/// e^x within 2^-13 for x ≤ 0, never below e^−80: for results that are rounded to eight bits.
template <class D, class V>
HWY_INLINE V CoarseExp(D d, V x) {
  const V bounded = Max(Set(d, -80.0F), x);
  const V rounder = Set(d, 12582912.0F);
  const V n = Sub(MulAdd(bounded, Set(d, 1.44269504F), rounder), rounder);
  const V r = NegMulAdd(n, Set(d, 0.693147181F), bounded);
  V e = MulAdd(Set(d, 0.165668418F), r, Set(d, 0.504963264F));
  e = MulAdd(e, r, Set(d, 1.00016419F));
  e = MulAdd(e, r, Set(d, 0.999928074F));
  return TimesPowerOfTwo(e, n);
}

/// e^x − 1, relative accuracy kept near 0; 0 ≤ x ≤ 88.
template <class D, class V>
HWY_INLINE V ExpMinusOne(D d, V x) {
  V r;
  const V n = ReduceByLn2(d, x, r);
  const V e = MulAdd(Mul(r, r), ExpTail(d, r), r);
  const V power = TimesPowerOfTwo(Set(d, 1.0F), n);
  return MulAdd(e, power, Sub(power, Set(d, 1.0F)));
}

template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  // tanh 10 rounds to 1. Min would lose NaN.
  const V limit = Set(d, 10.0F);
  const V magnitude = IfThenElse(Gt(Abs(x), limit), limit, Abs(x));
  const V e = ExpMinusOne(d, Add(magnitude, magnitude));
  return CopySign(Div(e, Add(e, Set(d, 2.0F))), x);
}

/// x·σ(z + z_error): a product enters the exponential with its rounding error, or large |z| would lose bits.
template <class D, class V>
HWY_INLINE V SigmoidProduct(D d, V x, V z, V z_error) {
  // σ(z) = e/(1 + e) with e = e^z for z < 0, and 1/(1 + e) with e = e^−z otherwise.
  const V e = Exp(d, Neg(Abs(z)));
  const auto negative = Lt(z, Zero(d));
  const V signed_error = IfThenElse(negative, z_error, Neg(z_error));
  const V corrected = MulAdd(e, signed_error, e);
  const V numerator = IfThenElse(negative, Mul(x, corrected), x);
  return Div(numerator, Add(corrected, Set(d, 1.0F)));
}

/// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|), and Φ(−t) = e^(−t²/2)·R(t), where R (Mills' ratio by √2π) is a polynomial in
/// (t − 3)/(t + 3) over t + 3; minimax on [0, 14], 2^-24.4 relative. No cancellation on either side.
template <class D, class V>
HWY_INLINE V Gelu(D d, V x) {
  // At 12.9 the tail is 2^-121.
  const V t = Min(Set(d, 12.9F), Abs(x));
  const V inverse = Reciprocal(Add(t, Set(d, 3.0F)));
  const V u = NegMulAdd(Set(d, 6.0F), inverse, Set(d, 1.0F));
  V ratio = Set(d, -0.000266765673697F);
  ratio = MulAdd(ratio, u, Set(d, -0.000903251707539F));
  ratio = MulAdd(ratio, u, Set(d, 0.00107603628977F));
  ratio = MulAdd(ratio, u, Set(d, 0.00692392152264F));
  ratio = MulAdd(ratio, u, Set(d, -0.0104799352088F));
  ratio = MulAdd(ratio, u, Set(d, -0.047256100669F));
  ratio = MulAdd(ratio, u, Set(d, 0.230019349335F));
  ratio = MulAdd(ratio, u, Set(d, -0.509332285084F));
  ratio = MulAdd(ratio, u, Set(d, 0.729083669189F));
  // −t²/2 and its rounding error.
  const V half_t = Mul(t, Set(d, -0.5F));
  const V square = Mul(t, half_t);
  const V square_error = MulSub(t, half_t, square);
  const V e = ExpInRange(d, square);
  const V tail = Mul(Mul(t, inverse), ratio);
  return NegMulAdd(tail, MulAdd(e, square_error, e), IfThenZeroElse(Lt(x, Zero(d)), x));
}

HWY_INLINE float LaneSum(F32 d, V32 x) { return hn::GetLane(hn::SumOfLanes(d, x)); }
HWY_INLINE float LaneMax(F32 d, V32 x) { return hn::GetLane(hn::MaxOfLanes(d, x)); }

/// The first `count` < lanes elements; the others read as zero and are not touched in memory.
HWY_INLINE V32 LoadRest(F32 d, const float* from, std::size_t count) {
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}

HWY_INLINE void StoreRest(F32 d, V32 x, float* to, std::size_t count) {
#if HWY_TARGET <= HWY_AVX2
  hn::BlendedStore(x, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

struct FullLoad {
  HWY_INLINE V32 operator()(const float* from) const { return hn::LoadU(F32(), from); }
};
struct RestLoad {
  std::size_t count;
  HWY_INLINE V32 operator()(const float* from) const { return LoadRest(F32(), from, count); }
};

HWY_INLINE Wide LoadWide(const float* from) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  return {hn::LoadU(d, from), hn::LoadU(d, from + lanes), hn::LoadU(d, from + 2 * lanes),
          hn::LoadU(d, from + 3 * lanes)};
}
HWY_INLINE void StoreWide(const Wide& x, float* to) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
#pragma GCC unroll 4
  for (std::size_t i = 0; i < kWide; ++i) hn::StoreU(x.v[i], d, to + i * lanes);
}

/// x[i] = function(d, load, i) over fours, whole vectors, and the rest, for functions that are templates of the tag.
template <class Function>
HWY_INLINE void TransformWide(float* x, std::size_t count, const Function& function) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + kWide * lanes <= count; i += kWide * lanes) {
    StoreWide(function(
                  WideF32(), [](const float* from) { return LoadWide(from); }, i),
              x + i);
  }
  for (; i + lanes <= count; i += lanes) hn::StoreU(function(d, FullLoad(), i), d, x + i);
  if (i < count) StoreRest(d, function(d, RestLoad{count - i}, i), x + i, count - i);
}

/// x[i] = function(load, i) over whole vectors, then over the rest. `load` reads other arrays at the same place.
template <class Function>
HWY_INLINE void Transform(F32 d, float* x, std::size_t count, const Function& function) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(function(FullLoad(), i), d, x + i);
  if (i < count) StoreRest(d, function(RestLoad{count - i}, i), x + i, count - i);
}

/// Σ term(load, i): four running sums, so that additions overlap.
template <class Term>
HWY_INLINE float SumOver(F32 d, std::size_t count, const Term& term) {
  const std::size_t lanes = hn::Lanes(d);
  V32 s0 = hn::Zero(d);
  V32 s1 = s0;
  V32 s2 = s0;
  V32 s3 = s0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, term(FullLoad(), i));
    s1 = hn::Add(s1, term(FullLoad(), i + lanes));
    s2 = hn::Add(s2, term(FullLoad(), i + 2 * lanes));
    s3 = hn::Add(s3, term(FullLoad(), i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) s0 = hn::Add(s0, term(FullLoad(), i));
  if (i < count) {
    const std::size_t rest = count - i;
    s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(d, rest), term(RestLoad{rest}, i)));
  }
  return LaneSum(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
