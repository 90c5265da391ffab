// Elementary functions on Highway vectors of float, compiled once a CPU level by the files that include it.
#if defined(MHA_OPS_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_MATH_INL_HPP
#undef MHA_OPS_MATH_INL_HPP
#else
#define MHA_OPS_MATH_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

/// 2^n for whole n in [−126, 127], by the exponent bits.
HWY_INLINE V32 PowerOfTwo(F32 d, V32 n) {
  const hn::RebindToSigned<F32> di;
  const auto biased = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127));
  return hn::BitCast(d, hn::ShiftLeft<23>(biased));
}

/// n and r of x = n·ln 2 + r, |r| ≤ ln 2 / 2 (Cody & Waite 1980: ln 2 in two parts).
HWY_INLINE V32 ReduceByLn2(F32 d, V32 x, V32& r) {
  const V32 n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  r = hn::NegMulAdd(n, hn::Set(d, 0.693145752F), x);
  r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-06F), r);
  return n;
}

/// (e^r − 1 − r) / r²; minimax on |r| ≤ ln 2 / 2, e^r within 2^-28 relative.
HWY_INLINE V32 ExpTail(F32 d, V32 r) {
  V32 q = hn::Set(d, 0.001381461298425669F);
  q = hn::MulAdd(q, r, hn::Set(d, 0.008368709842570418F));
  q = hn::MulAdd(q, r, hn::Set(d, 0.041668387366991314F));
  q = hn::MulAdd(q, r, hn::Set(d, 0.16666520689634848F));
  return hn::MulAdd(q, r, hn::Set(d, 0.49999993451680014F));
}

/// e^x, 1 ULP, for x ≤ 88; below −87.33 (results that are no normal numbers) zero. NaN stays NaN.
HWY_INLINE V32 Exp(F32 d, V32 x) {
  const auto vanishes = hn::Lt(x, hn::Set(d, -87.33654F));
  const V32 bounded = hn::IfThenElse(vanishes, hn::Zero(d), x);
  V32 r;
  const V32 n = ReduceByLn2(d, bounded, r);
  const V32 e = hn::Add(hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r), hn::Set(d, 1.0F));
  return hn::IfThenZeroElse(vanishes, hn::Mul(e, PowerOfTwo(d, n)));
}

/// e^x − 1, relative accuracy kept near 0; 0 ≤ x ≤ 88.
HWY_INLINE V32 ExpMinusOne(F32 d, V32 x) {
  V32 r;
  const V32 n = ReduceByLn2(d, x, r);
  const V32 e = hn::MulAdd(hn::Mul(r, r), ExpTail(d, r), r);
  const V32 power = PowerOfTwo(d, n);
  return hn::MulAdd(e, power, hn::Sub(power, hn::Set(d, 1.0F)));
}

HWY_INLINE V32 Tanh(F32 d, V32 x) {
  // tanh 10 rounds to 1. Min would lose NaN.
  const V32 limit = hn::Set(d, 10.0F);
  const V32 magnitude = hn::IfThenElse(hn::Gt(hn::Abs(x), limit), limit, hn::Abs(x));
  const V32 e = ExpMinusOne(d, hn::Add(magnitude, magnitude));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0F))), x);
}

/// x·σ(z + z_error): a product enters the exponential with its rounding error, or large |z| would lose bits.
HWY_INLINE V32 SigmoidProduct(F32 d, V32 x, V32 z, V32 z_error) {
  // σ(z) = e/(1 + e) with e = e^z for z < 0, and 1/(1 + e) with e = e^−z otherwise.
  const V32 e = Exp(d, hn::Neg(hn::Abs(z)));
  const auto negative = hn::Lt(z, hn::Zero(d));
  const V32 signed_error = hn::IfThenElse(negative, z_error, hn::Neg(z_error));
  const V32 corrected = hn::MulAdd(e, signed_error, e);
  const V32 numerator = hn::IfThenElse(negative, hn::Mul(x, corrected), x);
  return hn::Div(numerator, hn::Add(corrected, hn::Set(d, 1.0F)));
}

/// x·Φ(x) = max(x, 0) − |x|·Φ(−|x|), and Φ(−t) = e^(−t²/2)·R(t), where R (Mills' ratio by √2π) is a polynomial in
/// (t − 3)/(t + 3) over t + 3; minimax on [0, 14], 2^-24.4 relative. No cancellation on either side.
HWY_INLINE V32 Gelu(F32 d, V32 x) {
  const V32 t = hn::Min(hn::Set(d, 14.0F), hn::Abs(x));
  const V32 inverse = hn::Div(hn::Set(d, 1.0F), hn::Add(t, hn::Set(d, 3.0F)));
  const V32 u = hn::NegMulAdd(hn::Set(d, 6.0F), inverse, hn::Set(d, 1.0F));
  V32 ratio = hn::Set(d, -0.000266765673697F);
  ratio = hn::MulAdd(ratio, u, hn::Set(d, -0.000903251707539F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, 0.00107603628977F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, 0.00692392152264F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, -0.0104799352088F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, -0.047256100669F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, 0.230019349335F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, -0.509332285084F));
  ratio = hn::MulAdd(ratio, u, hn::Set(d, 0.729083669189F));
  const V32 half_t = hn::Mul(t, hn::Set(d, 0.5F));
  const V32 square = hn::Mul(t, half_t);
  const V32 square_error = hn::MulSub(t, half_t, square);
  const V32 e = Exp(d, hn::Neg(square));
  const V32 tail = hn::Mul(hn::Mul(t, inverse), ratio);
  const V32 shrunk = hn::Mul(tail, hn::NegMulAdd(e, square_error, e));
  return hn::Sub(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x), shrunk);
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
