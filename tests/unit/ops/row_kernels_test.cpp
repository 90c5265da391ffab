#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "mha/ops/normalization.hpp"
#include "ops/vector.hpp"
#include "support/cpu_levels.hpp"
#include "support/random.hpp"

namespace mha {
namespace {

constexpr double kUnit = 0x1p-24;

const std::vector<std::size_t> kOddSizes{1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 129, 384, 1023};

}  // namespace

TEST_CASE("layer norm and RMS norm agree with double within the stated error", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t cols : kOddSizes) {
      for (const bool rms : {false, true}) {
        CAPTURE(cols, rms);
        std::vector<float> x = test::normals(3 * cols, 7);
        for (float& value : x) value += 0.5F;
        const std::vector<float> gamma = test::normals(cols, 8);
        const std::vector<float> beta = test::normals(cols, 9);
        std::vector<float> y(3 * cols);
        normalize_rows({rms, gamma.data(), rms ? nullptr : beta.data(), 1e-5F}, {x.data(), 3, cols},
                       {y.data(), 3, cols});
        for (std::size_t r = 0; r < 3; ++r) {
          const float* row = x.data() + r * cols;
          const double mean = rms ? 0.0 : std::accumulate(row, row + cols, 0.0) / static_cast<double>(cols);
          double squares = 0.0;
          double top = 0.0;
          for (std::size_t i = 0; i < cols; ++i) {
            squares += (static_cast<double>(row[i]) - mean) * (static_cast<double>(row[i]) - mean);
            top = std::max(top, std::fabs(static_cast<double>(row[i])));
          }
          const double sigma = std::sqrt(squares / static_cast<double>(cols) + static_cast<double>(1e-5F));
          for (std::size_t i = 0; i < cols; ++i) {
            const double exact = (static_cast<double>(row[i]) - mean) / sigma * static_cast<double>(gamma[i]) +
                                 (rms ? 0.0 : static_cast<double>(beta[i]));
            const double bound =
                4 * kUnit *
                (std::fabs(exact) + std::fabs(static_cast<double>(gamma[i])) * (top + std::fabs(mean)) / sigma);
            REQUIRE(std::fabs(static_cast<double>(y[r * cols + i]) - exact) <= bound);
          }
        }
      }
    }
  });
}

TEST_CASE("dot products agree with double within the stated error", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : kOddSizes) {
      CAPTURE(count);
      const std::vector<float> x = test::normals(count, 11);
      const std::vector<float> y = test::normals(count, 12);
      double exact = 0.0;
      double magnitude = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);
        exact += product;
        magnitude += std::fabs(product);
      }
      const double steps = 4.0 + static_cast<double>(count) / 8.0;
      CHECK(std::fabs(static_cast<double>(dot(x.data(), y.data(), count)) - exact) <= steps * kUnit * magnitude);
      CHECK(cosine(x, x) == Approx(1.0));
    }
  });
}

TEST_CASE("the entropy of shares is that of the definition, zeros and tiny shares included", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : {1U, 2U, 7U, 16U, 33U, 128U, 511U}) {
      std::vector<float> shares(count);
      const std::vector<float> noise = test::normals(count, 97);
      float total = 0;
      for (std::size_t i = 0; i < count; ++i) total += shares[i] = i % 5 == 3 ? 0.0F : std::exp(3.0F * noise[i]);
      for (float& share : shares) share /= total;
      if (count > 8) shares[5] = 1e-30F;
      double exact = 0;
      for (const float share : shares) exact -= share > 0 ? double{share} * std::log2(double{share}) : 0.0;
      CHECK(static_cast<double>(entropy(shares.data(), count)) == Approx(exact).epsilon(2e-6).margin(1e-7));
    }
    const std::vector<float> even(64, 1.0F / 64);
    CHECK(entropy(even.data(), 64) == 6.0F);
    const std::vector<float> sure{0.0F, 1.0F, 0.0F};
    CHECK(entropy(sure.data(), 3) == 0.0F);
  });
}

TEST_CASE("cosine is 1 along, 0 across and towards nothing, -1 against", "[kernels]") {
  const std::vector<float> east{3.0F, 0.0F};
  CHECK(cosine(east, std::vector{2.0F, 0.0F}) == 1.0);
  CHECK(cosine(east, std::vector{0.0F, 1.0F}) == 0.0);
  CHECK(cosine(std::vector{2.0F, 1.0F}, std::vector{-2.0F, -1.0F}) == Approx(-1.0));
  const std::vector<float> x{1.0F, 2.0F};
  const std::vector<float> zero{0.0F, 0.0F};
  CHECK(cosine(x, zero) == 0.0);
}

TEST_CASE("a value that is not finite is found at every place", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (std::size_t place = 0; place < 37; ++place) {
      std::vector<float> x(37, 3e38F);
      CHECK(all_finite(x.data(), x.size()));
      x[place] = place % 2 == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
      CHECK_FALSE(all_finite(x.data(), x.size()));
    }
  });
}

TEST_CASE("rows are reduced to their mean", "[kernels]") {
  const std::vector<float> x{1.0F, 2.0F, 3.0F, 5.0F, -1.0F, 9.0F};
  std::vector<float> out(2);
  mean_of_rows({x.data(), 3, 2}, out.data());
  CHECK(out[0] == Approx(1.0));
  CHECK(out[1] == Approx(16.0 / 3.0));
}

}  // namespace mha
