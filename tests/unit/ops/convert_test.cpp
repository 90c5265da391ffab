#include "ops/convert.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "mha/core/error.hpp"
#include "support/cpu_levels.hpp"
#include "support/random.hpp"

namespace mha {

TEST_CASE("every half and every bfloat16 becomes the float32 of the same value", "[kernels]") {
  std::vector<std::byte> bytes(1 + 2 * 0x10000);
  for (std::size_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(bytes.data() + 1 + 2 * i, &bits, sizeof bits);
  }
  const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
  test::for_each_simd_level([&](const std::string& level) {
    CAPTURE(level);
    std::vector<float> out(0x10000);
    to_float32({DType::f16, {256, 256}, bytes.data() + 1}, 0, out.size(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(same(out[i], float_from_f16(static_cast<unsigned short>(i))));
    to_float32({DType::bf16, {256, 256}, bytes.data() + 1}, 0, out.size(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) REQUIRE(same(out[i], float_from_bf16(static_cast<unsigned short>(i))));
  });
}

TEST_CASE("float views of each type read from unaligned memory", "[kernels]") {
  const std::vector<float> x = test::normals(37, 2);
  std::vector<std::byte> bytes(37 * sizeof(double) + 1);
  std::vector<float> out(37);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const unsigned short bits = bf16_from_float(x[i]);
    std::memcpy(bytes.data() + 1 + i * sizeof bits, &bits, sizeof bits);
  }
  to_float32({DType::bf16, {37}, bytes.data() + 1}, 0, 37, out.data());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(out[i] == float_from_bf16(bf16_from_float(x[i])));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto wide = static_cast<double>(x[i]);
    std::memcpy(bytes.data() + 1 + i * sizeof wide, &wide, sizeof wide);
  }
  to_float32({DType::f64, {37}, bytes.data() + 1}, 5, 32, out.data());
  CHECK(std::equal(out.begin(), out.begin() + 32, x.begin() + 5));
  for (const DType type : {DType::i32, DType::i64, DType::u8, DType::boolean, DType::f8_e4m3, DType::i8}) {
    CHECK_FALSE(is_float_type(type));
    CHECK_THROWS_AS(to_float32({type, {4}, bytes.data()}, 0, 4, out.data()), Error);
  }
}

TEST_CASE("rows of I8 weights are multiplied by their scale", "[kernels]") {
  const std::vector<std::int8_t> codes{1, -2, 127, -128};
  const std::vector<float> steps{0.5F, 2.0F};
  const TensorView view{DType::i8, {2, 2}, reinterpret_cast<const std::byte*>(codes.data())};
  const TensorView step_view{DType::f32, {2}, reinterpret_cast<const std::byte*>(steps.data())};
  std::vector<float> row(2);
  row_to_float32(view, step_view, 1, row.data());
  CHECK(row == std::vector<float>{254.0F, -256.0F});
  CHECK_THROWS_AS(row_to_float32(view, {}, 1, row.data()), Error);
}

TEST_CASE("a quantised row is within half a step, and a row of zeros stays zero", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : {1U, 5U, 16U, 37U, 384U}) {
      CAPTURE(count);
      const std::vector<float> x = test::normals(count, 4);
      std::vector<std::int8_t> codes(count);
      const float step = quantize_row(x.data(), codes.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        const float back = static_cast<float>(codes[i]) * step;
        REQUIRE(std::fabs(back - x[i]) <= 0.5001F * step);
      }
      const std::vector<float> zeros(count, 0.0F);
      CHECK(quantize_row(zeros.data(), codes.data(), count) == 0.0F);
      CHECK(std::all_of(codes.begin(), codes.end(), [](std::int8_t code) { return code == 0; }));
    }
  });
}

}  // namespace mha
