#include "ops/convert.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/numbers.hpp"
#include "mha/core/error.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convert.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

/// bfloat16 bytes, unaligned, to float32: the upper half of the bits.
void WidenBfloat16(const std::byte* from, float* to, std::size_t count) {
  const F32 d;
  const hn::Rebind<std::uint16_t, F32> d16;
  const hn::RebindToUnsigned<F32> d32;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    HWY_ALIGN std::uint16_t bits[HWY_MAX_BYTES / sizeof(float)];
    std::memcpy(bits, from + i * sizeof(std::uint16_t), lanes * sizeof(std::uint16_t));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::Load(d16, bits)))), d, to + i);
  }
  for (; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = float_from_bf16(bits);
  }
}

/// float16 bytes, unaligned, to float32: `float_from_f16` without branches, of which the compiler makes vector code.
void WidenFloat16(const std::byte* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t rest = bits & 0x7FFFU;
    const std::uint32_t normal = (rest << 13) + (112U << 23);
    const std::uint32_t special = normal + (112U << 23);  // infinity and NaN: the largest exponent stays the largest
    // Below the smallest normal half the value is a multiple of 2^-24.
    const float small = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24F;
    std::uint32_t value = rest >= 0x7C00U ? special : normal;
    value = rest < 0x0400U ? std::bit_cast<std::uint32_t>(small) : value;
    to[i] = std::bit_cast<float>(sign | value);
  }
}

float MaxMagnitude(const float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  V32 top = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) top = hn::Max(top, hn::Abs(hn::LoadU(d, x + i)));
  if (i < count) top = hn::Max(top, hn::Abs(LoadRest(d, x + i, count - i)));
  return LaneMax(d, top);
}

void Quantize(const float* x, float inverse_step, std::int8_t* out, std::size_t count) {
  const F32 d;
  const hn::Rebind<std::int8_t, F32> d8;
  const hn::RebindToSigned<F32> d32;
  const std::size_t lanes = hn::Lanes(d);
  const V32 inverse = hn::Set(d, inverse_step);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto codes = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), inverse));
    hn::StoreU(hn::DemoteTo(d8, codes), d8, out + i);
  }
  if (i == count) return;
  const auto codes = hn::NearestInt(hn::Mul(LoadRest(d, x + i, count - i), inverse));
  HWY_ALIGN std::int32_t rest[HWY_MAX_BYTES / sizeof(std::int32_t)];
  hn::Store(codes, d32, rest);
  for (std::size_t j = 0; i + j < count; ++j) out[i + j] = static_cast<std::int8_t>(rest[j]);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(WidenBfloat16);
HWY_EXPORT(WidenFloat16);
HWY_EXPORT(MaxMagnitude);
HWY_EXPORT(Quantize);

namespace {

template <class T>
T element(const std::byte* from, std::size_t i) {
  T value;
  std::memcpy(&value, from + i * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

bool is_float_type(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::f64;
}

void to_float32(const TensorView& view, std::size_t begin, std::size_t count, float* out) {
  const std::byte* from = view.data + begin * size_of(view.dtype);
  switch (view.dtype) {
    case DType::f32:
      std::memcpy(out, from, count * sizeof(float));
      return;
    case DType::bf16:
      HWY_DYNAMIC_DISPATCH(WidenBfloat16)(from, out, count);
      return;
    case DType::f16:
      HWY_DYNAMIC_DISPATCH(WidenFloat16)(from, out, count);
      return;
    case DType::f64:
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(element<double>(from, i));
      return;
    default:
      throw_model("weights: expected F32, F16, BF16 or F64, got " + std::string(name_of(view.dtype)));
  }
}

void row_to_float32(const TensorView& view, const TensorView& row_scale, std::size_t row, float* out) {
  const std::size_t cols = view.shape.size() < 2 ? 1 : view.size() / view.shape[0];
  if (view.dtype != DType::i8) return to_float32(view, row * cols, cols, out);
  if (row_scale.data == nullptr) throw_model("weights: I8: expected a scale a row, got none");
  float step;
  to_float32(row_scale, row, 1, &step);
  const std::byte* from = view.data + row * cols;
  for (std::size_t i = 0; i < cols; ++i) out[i] = static_cast<float>(element<std::int8_t>(from, i)) * step;
}

float quantize_row(const float* x, std::int8_t* out, std::size_t count) {
  constexpr float kLargestCode = 127.0F;
  const float largest = HWY_DYNAMIC_DISPATCH(MaxMagnitude)(x, count);
  // Below this the inverse of the step is infinite, and the row is zero for any purpose.
  constexpr float kSmallest = 1e-36F;
  if (!(largest > kSmallest)) {
    std::memset(out, 0, count);
    return std::isnan(largest) ? largest : 0.0F;
  }
  HWY_DYNAMIC_DISPATCH(Quantize)(x, kLargestCode / largest, out, count);
  return largest / kLargestCode;
}

}  // namespace mha
#endif
