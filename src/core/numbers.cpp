#include "core/numbers.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "mha/core/error.hpp"

namespace mha {
namespace {

// FLT_MAX in fixed notation has 39 digits before the point.
constexpr std::size_t kFloatText = 128;

void require_finite(float value) {
  if (!std::isfinite(value)) throw_internal("number: not finite, no text form for it");
}

template <class T>
bool parse(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

}  // namespace

void append_float(std::string& out, float value) {
  require_finite(value);
  char text[kFloatText];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  out.append(text, end);
}

void append_float(std::string& out, float value, int digits) {
  require_finite(value);
  char text[kFloatText];
  auto [end, error] = std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed, digits);
  if (error != std::errc()) throw_internal("number: too many digits asked for");
  if (digits > 0) {
    while (end[-1] == '0') --end;
    if (end[-1] == '.') --end;
  }
  out.append(text, end);
}

bool parse_float(std::string_view text, float& value) { return parse(text, value); }
bool parse_double(std::string_view text, double& value) { return parse(text, value); }

float float_from_f16(unsigned short bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float float_from_bf16(unsigned short bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

unsigned short bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<unsigned short>(bits >> 16 | 0x40U);
  return static_cast<unsigned short>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

unsigned short f16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 16 & 0x8000U);
  if (std::isnan(value)) return static_cast<unsigned short>(sign | 0x7E00U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<unsigned short>(sign | 0x7C00U);
  if (magnitude < 6.103515625e-05F) {  // below the smallest normal half: a multiple of 2^-24
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, 24)));
    return static_cast<unsigned short>(sign | steps);
  }
  const std::uint32_t rounded = (bits & 0x7FFFFFFFU) + 0xFFFU + (bits >> 13 & 1U);
  return static_cast<unsigned short>(sign | ((rounded >> 13) - (112U << 10)));
}

}  // namespace mha
