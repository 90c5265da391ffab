#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "mha/ops/normalization.hpp"
#include "mha/ops/softmax.hpp"
#include "mha/ops/vector.hpp"
#include "support/cpu_levels.hpp"
#include "support/random.hpp"

namespace mha {
namespace {

constexpr double kUnit = 0x1p-24;

const std::vector<std::size_t> kOddSizes{1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 129, 384, 1023};

}  // namespace

TEST_CASE("layer norm and RMS norm agree with double within the stated error") {
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
        normalize_rows({rms, gamma.data(), rms ? nullptr : beta.data(), 1e-5F}, {x.data(), 3, cols}, {y.data(), 3, cols});
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
                4 * kUnit * (std::fabs(exact) + std::fabs(static_cast<double>(gamma[i])) * (top + std::fabs(mean)) / sigma);
            REQUIRE(std::fabs(static_cast<double>(y[r * cols + i]) - exact) <= bound);
          }
        }
      }
    }
  });
}

TEST_CASE("softmax agrees with double and its rows sum to one") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : kOddSizes) {
      CAPTURE(count);
      const std::vector<float> x = test::normals(count, 3, 6.0F);
      std::vector<float> y = x;
      softmax(y.data(), count);
      const double top = static_cast<double>(*std::max_element(x.begin(), x.end()));
      double total = 0.0;
      for (const float value : x) total += std::exp(static_cast<double>(value) - top);
      for (std::size_t i = 0; i < count; ++i) {
        // The difference x − max is rounded before it is exponentiated.
        const double difference = static_cast<double>(x[i]) - top;
        const double exact = std::exp(difference) / total;
        const double bound = (8.0 + std::fabs(difference) + static_cast<double>(count)) * kUnit * exact;
        REQUIRE(std::fabs(static_cast<double>(y[i]) - exact) <= bound);
      }
      CHECK(std::accumulate(y.begin(), y.end(), 0.0) == Approx(1.0).epsilon(1e-6));
    }
  });
}

TEST_CASE("softmax takes minus infinity and far scores as zero") {
  std::vector<float> x{1.0F, -std::numeric_limits<float>::infinity(), -500.0F, 1.0F};
  softmax(x.data(), x.size());
  CHECK(x == std::vector<float>{0.5F, 0.0F, 0.0F, 0.5F});
}

TEST_CASE("softmax in a window is that of the window alone") {
  std::vector<float> x = test::normals(40, 5);
  std::vector<float> inner(x.begin() + 9, x.begin() + 30);
  softmax_window(x.data(), x.size(), 9, 30);
  softmax(inner.data(), inner.size());
  CHECK(std::equal(inner.begin(), inner.end(), x.begin() + 9));
  CHECK(std::all_of(x.begin(), x.begin() + 9, [](float value) { return value == 0.0F; }));
  CHECK(std::all_of(x.begin() + 30, x.end(), [](float value) { return value == 0.0F; }));
}

TEST_CASE("sums and products agree with double within the stated error") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : kOddSizes) {
      CAPTURE(count);
      const std::vector<float> x = test::normals(count, 11);
      const std::vector<float> y = test::normals(count, 12);
      double exact = 0.0;
      double magnitude = 0.0;
      double squares = 0.0;
      double distance = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);
        const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
        exact += product;
        magnitude += std::fabs(product);
        squares += difference * difference;
        distance += std::fabs(difference);
      }
      const double steps = 4.0 + static_cast<double>(count) / 8.0;
      CHECK(std::fabs(static_cast<double>(dot(x.data(), y.data(), count)) - exact) <= steps * kUnit * magnitude);
      CHECK(std::fabs(static_cast<double>(euclidean_distance(x.data(), y.data(), count)) - std::sqrt(squares)) <=
            steps * kUnit * std::sqrt(squares));
      CHECK(std::fabs(static_cast<double>(manhattan_distance(x.data(), y.data(), count)) - distance) <=
            steps * kUnit * distance);
      const double total = std::accumulate(x.begin(), x.end(), 0.0);
      const double size = std::accumulate(x.begin(), x.end(), 0.0, [](double a, float b) { return a + std::fabs(b); });
      CHECK(std::fabs(static_cast<double>(sum(x.data(), count)) - total) <= steps * kUnit * size);

      std::vector<float> unit = x;
      normalize_l2(unit.data(), count);
      CHECK(dot(unit.data(), unit.data(), count) == Approx(1.0).epsilon(1e-6));
      CHECK(cosine(x, x) == Approx(1.0));
    }
  });
}

TEST_CASE("the entropy of shares is that of the definition, zeros and tiny shares included") {
  test::for_each_simd_level([](const std::string& level) {
    CAPTURE(level);
    for (const std::size_t count : {1U, 2U, 7U, 16U, 33U, 128U, 511U}) {
      std::vector<float> shares(count);
      const std::vector<float> noise = test::normals(count, 11);
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

TEST_CASE("cosine is 1 along, 0 across and towards nothing, -1 against; the unit form of zero stays zero") {
  const std::vector<float> east{3.0F, 0.0F};
  CHECK(cosine(east, std::vector{2.0F, 0.0F}) == 1.0);
  CHECK(cosine(east, std::vector{0.0F, 1.0F}) == 0.0);
  CHECK(cosine(std::vector{2.0F, 1.0F}, std::vector{-2.0F, -1.0F}) == Approx(-1.0));
  const std::vector<float> x{1.0F, 2.0F};
  std::vector<float> zero{0.0F, 0.0F};
  CHECK(cosine(x, zero) == 0.0);
  normalize_l2(zero.data(), 2);
  CHECK(zero == std::vector<float>{0.0F, 0.0F});
}

TEST_CASE("a value that is not finite is found at every place") {
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

TEST_CASE("rows are reduced to their mean, maximum and weighted mean") {
  const std::vector<float> x{1.0F, 2.0F, 3.0F, 5.0F, -1.0F, 9.0F};
  const ConstMatrix rows(x.data(), 3, 2);
  std::vector<float> out(2);
  mean_of_rows(rows, out.data());
  CHECK(out[0] == Approx(1.0));
  CHECK(out[1] == Approx(16.0 / 3.0));
  max_of_rows(rows, out.data());
  CHECK(out == std::vector<float>{3.0F, 9.0F});
  const std::vector<float> weights{1.0F, 2.0F, 1.0F};
  weighted_mean_of_rows(rows, weights.data(), out.data());
  CHECK(out[0] == Approx(1.5));
  CHECK(out[1] == Approx(5.25));
}

}  // namespace mha
