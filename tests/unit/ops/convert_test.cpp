#include "mha/ops/convert.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "mha/core/error.hpp"
#include "mha/core/numbers.hpp"
#include "support/cpu_levels.hpp"
#include "support/random.hpp"

namespace mha {

TEST_CASE("rounding to bfloat16 is that of one number, at every place and for special values") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    std::vector<float> x = test::normals(1000, 1);
    x.push_back(std::numeric_limits<float>::quiet_NaN());
    x.push_back(-std::numeric_limits<float>::infinity());
    x.push_back(std::bit_cast<float>(0x3F808000U));  // a tie
    x.push_back(std::bit_cast<float>(0x3F818000U));
    x.insert(x.end(), 5, -0.0F);
    std::reverse(x.begin(), x.end());
    std::vector<std::uint16_t> y(x.size());
    to_bfloat16(x.data(), y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(y[i] == bf16_from_float(x[i]));
  });
}

TEST_CASE("float views of each type read from unaligned memory") {
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
  CHECK_THROWS_AS(to_float32({DType::i64, {4}, bytes.data()}, 0, 4, out.data()), Error);
}

TEST_CASE("rows of I8 weights are multiplied by their scale") {
  const std::vector<std::int8_t> codes{1, -2, 127, -128};
  const std::vector<float> steps{0.5F, 2.0F};
  const TensorView view{DType::i8, {2, 2}, reinterpret_cast<const std::byte*>(codes.data())};
  const TensorView step_view{DType::f32, {2}, reinterpret_cast<const std::byte*>(steps.data())};
  std::vector<float> row(2);
  row_to_float32(view, step_view, 1, row.data());
  CHECK(row == std::vector<float>{254.0F, -256.0F});
  CHECK_THROWS_AS(row_to_float32(view, {}, 1, row.data()), Error);
}

TEST_CASE("a quantised row is within half a step, and a row of zeros stays zero") {
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
