#include "mha/io/tensor_convert.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "mha/core/error.hpp"
#include "mha/core/utf8.hpp"

namespace mha {
namespace {

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// Branch-free form of `float_from_f16`, so that the compiler makes vector code of the loop below.
float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t rest = bits & 0x7FFFU;
  const std::uint32_t shifted = (rest << 13) + (112U << 23);
  const std::uint32_t special = shifted + (112U << 23);  // infinity and NaN: the largest exponent stays the largest
  // Below the smallest normal half the value is a multiple of 2^-24.
  const float small = static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24F;
  std::uint32_t value = rest >= 0x7C00U ? special : shifted;
  value = rest < 0x0400U ? std::bit_cast<std::uint32_t>(small) : value;
  return std::bit_cast<float>(sign | value);
}

float from_f64(double value) { return static_cast<float>(value); }

// memcpy: the data need not be aligned, and both this and the calls above become plain vector loads.
template <class T, class Convert>
void convert(const std::byte* data, std::span<float> out, Convert one) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    out[i] = one(value);
  }
}

void require_room(const TensorView& view, std::string_view name, std::span<float> out) {
  if (out.size() != view.size()) {
    throw_internal("tensor " + std::string(name) + ": " + std::to_string(view.size()) + " elements into room for " +
                   std::to_string(out.size()));
  }
}

}  // namespace

bool is_float_type(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16 || type == DType::f64;
}

void to_float32(const TensorView& view, std::string_view name, std::span<float> out) {
  require_room(view, name, out);
  switch (view.dtype) {
    case DType::f32:
      if (!out.empty()) std::memcpy(out.data(), view.data, out.size_bytes());
      return;
    case DType::f16:
      convert<std::uint16_t>(view.data, out, from_f16);
      return;
    case DType::bf16:
      convert<std::uint16_t>(view.data, out, from_bf16);
      return;
    case DType::f64:
      convert<double>(view.data, out, from_f64);
      return;
    default:
      throw_model("tensor " + utf8::quoted(name) + ": expected F32, F16, BF16 or F64, got " +
                  std::string(name_of(view.dtype)));
  }
}

void to_float32(const TensorView& view, const TensorView& scale, std::string_view name, std::span<float> out) {
  require_room(view, name, out);
  const std::string subject = "tensor " + utf8::quoted(name) + ": ";
  if (view.dtype != DType::i8)
    throw_model(subject + "expected I8 beside a scale, got " + std::string(name_of(view.dtype)));
  if (scale.dtype != DType::f32 || view.shape.empty() || scale.shape.size() != 1 || scale.shape[0] != view.shape[0]) {
    throw_model(subject + "scale: expected F32 " +
                (view.shape.empty() ? "[rows]" : shape_text({view.shape.data(), 1})) + ", got " +
                std::string(name_of(scale.dtype)) + " " + shape_text(scale.shape));
  }
  if (out.empty()) return;
  const std::size_t cols = out.size() / view.shape[0];
  for (std::size_t r = 0; r < view.shape[0]; ++r) {
    float factor = 0;
    std::memcpy(&factor, scale.data + r * sizeof(float), sizeof(float));
    convert<std::int8_t>(view.data + r * cols, out.subspan(r * cols, cols),
                         [&](std::int8_t value) { return static_cast<float>(value) * factor; });
  }
}

}  // namespace mha
