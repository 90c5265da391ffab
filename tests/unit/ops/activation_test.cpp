#include "mha/ops/activation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/cpu_levels.hpp"

namespace mha {
namespace {

double exact(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    case Activation::gelu_tanh:
      return x / (1.0 + std::exp(-2.0 * std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::quick_gelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::silu:
      return x / (1.0 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::relu_squared:
      return x > 0.0 ? x * x : 0.0;
  }
  return x;
}

/// Distance in units of the last place of the exact value.
double ulps(float got, double expected) {
  const auto rounded = static_cast<float>(expected);
  const double step = static_cast<double>(std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity())) -
                      std::fabs(static_cast<double>(rounded));
  return std::fabs(static_cast<double>(got) - expected) / step;
}

std::vector<float> sample() {
  std::vector<float> x;
  for (float magnitude = 1e-30F; magnitude < 200.0F; magnitude *= 1.0007F) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  return x;
}

double largest_ulps(Activation activation) {
  const std::vector<float> x = sample();
  std::vector<float> y = x;
  activate(activation, y.data(), y.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(activation, static_cast<double>(x[i]));
    if (std::fabs(expected) < 0x1p-118) continue;
    largest = std::max(largest, ulps(y[i], expected));
  }
  return largest;
}

}  // namespace

TEST_CASE("activations are within the stated ULP of the exact function", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    CHECK(largest_ulps(Activation::relu) <= 0.5);
    CHECK(largest_ulps(Activation::relu_squared) <= 0.5);
    CHECK(largest_ulps(Activation::tanh) <= 4.0);
    CHECK(largest_ulps(Activation::silu) <= 4.0);
    const bool fma = test::has_fma(level);
    CHECK(largest_ulps(Activation::gelu) <= (fma ? 6.0 : 80.0));
    CHECK(largest_ulps(Activation::quick_gelu) <= (fma ? 20.0 : 80.0));
    CHECK(largest_ulps(Activation::gelu_tanh) <= 170.0);
  });
}

TEST_CASE("activations keep NaN, and infinity has its limit", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const Activation activation :
         {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::quick_gelu, Activation::silu,
          Activation::tanh, Activation::relu_squared}) {
      CAPTURE(static_cast<int>(activation));
      std::vector<float> x{std::numeric_limits<float>::quiet_NaN(), kInfinity, 0.0F};
      activate(activation, x.data(), x.size());
      CHECK(std::isnan(x[0]));
      CHECK(x[1] == (activation == Activation::tanh ? 1.0F : kInfinity));
      CHECK(x[2] == 0.0F);
    }
  });
}

TEST_CASE("an activation of an element does not depend on its place", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const Activation activation : {Activation::gelu, Activation::silu, Activation::tanh}) {
      std::vector<float> row(67, -0.7F);
      activate(activation, row.data(), row.size());
      CHECK(std::all_of(row.begin(), row.end(), [&](float value) { return value == row[0]; }));
    }
  });
}

TEST_CASE("a gated activation multiplies by the gate", "[kernels]") {
  std::vector<float> x{-1.0F, 0.5F, 2.0F};
  const std::vector<float> gate{2.0F, -3.0F, 0.0F};
  std::vector<float> expected = x;
  activate(Activation::gelu, expected.data(), expected.size());
  activate_gated(Activation::gelu, x.data(), gate.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == expected[i] * gate[i]);
}

}  // namespace mha
