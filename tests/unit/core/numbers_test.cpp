#include "core/numbers.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "mha/core/error.hpp"

namespace {

std::string text_of(float value) {
  std::string text;
  mha::append_float(text, value);
  return text;
}

}  // namespace

TEST_CASE("every float32 reads back from its text with the same bits and at most nine digits") {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const std::string text = text_of(value);
    float back = 0;
    REQUIRE(mha::parse_float(text, back));
    REQUIRE(std::bit_cast<std::uint32_t>(back) == std::bit_cast<std::uint32_t>(value));
    std::size_t digits = 0;
    for (const char c : text.substr(0, text.find('e'))) digits += c >= '0' && c <= '9';
    if (text.find('e') != std::string::npos) REQUIRE(digits <= 9);
  }
}

TEST_CASE("the shortest text is chosen, and rounding keeps no trailing zeros") {
  CHECK(text_of(0.1F) == "0.1");
  CHECK(text_of(3.0F) == "3");
  std::string text;
  mha::append_float(text, 0.123456F, 3);
  CHECK(text == "0.123");
  text.clear();
  mha::append_float(text, 2.0F, 3);
  CHECK(text == "2");
}

TEST_CASE("a value that is not finite has no text") {
  CHECK_THROWS_AS(text_of(std::numeric_limits<float>::quiet_NaN()), mha::Error);
  CHECK_THROWS_AS(text_of(std::numeric_limits<float>::infinity()), mha::Error);
}

TEST_CASE("every half and bfloat16 survives the way through float32") {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto narrow = static_cast<unsigned short>(bits);
    const float half = mha::float_from_f16(narrow);
    if (!std::isnan(half)) REQUIRE(mha::f16_from_float(half) == narrow);
    const float brain = mha::float_from_bf16(narrow);
    if (!std::isnan(brain)) REQUIRE(mha::bf16_from_float(brain) == narrow);
  }
  CHECK(mha::f16_from_float(65519.0F) == 0x7BFF);
  CHECK(mha::f16_from_float(65520.0F) == 0x7C00);
}
