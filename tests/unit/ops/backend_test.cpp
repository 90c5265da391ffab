#include "mha/ops/backend.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "mha/core/error.hpp"
#include "support/linear_case.hpp"
#include "support/random.hpp"

namespace mha {
namespace {

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

struct Shape {
  std::size_t rows, in, out;
};

const std::vector<Shape> kShapes{{1, 1, 1},    {1, 384, 384}, {3, 7, 5},     {8, 33, 70},    {17, 64, 130},
                                 {65, 40, 24}, {5, 384, 96},  {130, 31, 33}, {33, 1536, 48}, {70, 100, 1152}};

/// A float32 sum of `in` products is within in·2⁻²⁴·Σ|x·w| of the exact one; here |x·w| is about 0.05.
double f32_tolerance(const Shape& shape) {
  return 0x1p-24 * (static_cast<double>(shape.in) * 0.05 * std::sqrt(static_cast<double>(shape.in)) + 16.0);
}

std::vector<float> run(const Backend& backend, Precision precision, const test::LinearCase& layer, const Shape& shape,
                       const std::vector<float>& x, const LinearTail& tail, Executor* executor = nullptr) {
  std::vector<float> y(shape.rows * shape.out);
  backend.linear(*layer.pack(backend, precision), {x.data(), shape.rows, shape.in}, {y.data(), shape.rows, shape.out}, tail,
                 executor);
  return y;
}

}  // namespace

TEST_CASE("every backend's f32 linear agrees with the reference on odd sizes and tails") {
  for (const std::string& name : backend_names()) {
    const Backend& backend = backend_named(name);
    CAPTURE(name);
    for (const Shape& shape : kShapes) {
      CAPTURE(shape.rows, shape.in, shape.out);
      const test::LinearCase layer(shape.in, shape.out, 21);
      const std::vector<float> x = test::normals(shape.rows * shape.in, 22);
      const std::vector<float> residual = test::normals(shape.rows * shape.out, 23);
      const std::vector<float> gamma(shape.out, 1.0F);
      const RowNorm norm{false, gamma.data(), nullptr, 1e-3F};
      for (const Activation activation : {Activation::none, Activation::gelu, Activation::relu}) {
        for (const bool add_residual : {false, true}) {
          LinearTail tail;
          tail.activation = activation;
          if (add_residual) tail.residual = {residual.data(), shape.rows, shape.out};
          const auto got = run(backend, Precision::f32, layer, shape, x, tail);
          const auto expected = run(backend_named("reference"), Precision::f32, layer, shape, x, tail);
          CHECK(largest_difference(got, expected) <= f32_tolerance(shape));
        }
      }
      LinearTail normalized;
      normalized.norm = &norm;
      const auto got = run(backend, Precision::f32, layer, shape, x, normalized);
      const auto expected = run(backend_named("reference"), Precision::f32, layer, shape, x, normalized);
      // A row of one column has no deviation: √eps is what it is divided by.
      CHECK(largest_difference(got, expected) <= (shape.out == 1 ? 32.0 : 4.0) * f32_tolerance(shape) + 4e-6);
    }
  }
}

TEST_CASE("joined weights are one projection, row after row") {
  const test::LinearCase a(20, 6, 1);
  const test::LinearCase b(20, 9, 2);
  const std::vector<float> x = test::normals(3 * 20, 3);
  for (const std::string& name : backend_names()) {
    CAPTURE(name);
    const Backend& backend = backend_named(name);
    const LinearWeights* parts[] = {&a.weights, &b.weights};
    const auto joined = backend.pack(parts, Precision::f32);
    REQUIRE(joined->out == 15);
    std::vector<float> y(3 * 15);
    backend.linear(*joined, {x.data(), 3, 20}, {y.data(), 3, 15}, {}, nullptr);
    const auto first = run(backend_named("reference"), Precision::f32, a, {3, 20, 6}, x, {});
    const auto second = run(backend_named("reference"), Precision::f32, b, {3, 20, 9}, x, {});
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 15; ++c) {
        CHECK(y[r * 15 + c] == Approx(c < 6 ? first[r * 6 + c] : second[r * 9 + c - 6]).margin(1e-5));
      }
    }
  }
}

TEST_CASE("a residual may be the memory of the result") {
  const test::LinearCase layer(48, 48, 5);
  const std::vector<float> x = test::normals(9 * 48, 6);
  const std::vector<float> residual = test::normals(9 * 48, 7);
  for (const std::string& name : backend_names()) {
    CAPTURE(name);
    const Backend& backend = backend_named(name);
    LinearTail tail;
    tail.residual = {residual.data(), 9, 48};
    const auto expected = run(backend, Precision::f32, layer, {9, 48, 48}, x, tail);
    std::vector<float> y = residual;
    tail.residual = {y.data(), 9, 48};
    backend.linear(*layer.pack(backend, Precision::f32), {x.data(), 9, 48}, {y.data(), 9, 48}, tail, nullptr);
    CHECK(y == expected);
  }
}

TEST_CASE("feed-forward is its two products, plain and gated") {
  const std::vector<float> x = test::normals(67 * 24, 31);
  const std::vector<float> residual = test::normals(67 * 24, 32);
  for (const std::string& name : backend_names()) {
    const Backend& backend = backend_named(name);
    for (const bool gated : {false, true}) {
      CAPTURE(name, gated);
      const test::LinearCase in(24, gated ? 100 : 50, 33);
      const test::LinearCase out(50, 24, 34);
      LinearTail tail;
      tail.residual = {residual.data(), 67, 24};
      std::vector<float> y(67 * 24);
      backend.feed_forward(*in.pack(backend, Precision::f32), *out.pack(backend, Precision::f32), {x.data(), 67, 24},
                           Activation::gelu, {y.data(), 67, 24}, tail, nullptr);
      auto hidden = run(backend_named("reference"), Precision::f32, in, {67, 24, gated ? 100U : 50U}, x, {});
      std::vector<float> narrow(67 * 50);
      for (std::size_t r = 0; r < 67; ++r) {
        float* row = hidden.data() + r * (gated ? 100 : 50);
        if (gated) activate_gated(Activation::gelu, row, row + 50, 50);
        if (!gated) activate(Activation::gelu, row, 50);
        std::copy_n(row, 50, narrow.data() + r * 50);
      }
      const auto expected = run(backend_named("reference"), Precision::f32, out, {67, 50, 24}, narrow, tail);
      CHECK(largest_difference(y, expected) <= 2.0 * f32_tolerance({67, 50, 24}));
    }
  }
}

TEST_CASE("weights that do not fit are refused by name") {
  const test::LinearCase a(20, 6, 1);
  const test::LinearCase b(21, 6, 2);
  const LinearWeights* parts[] = {&a.weights, &b.weights};
  for (const std::string& name : backend_names()) {
    CHECK_THROWS_WITH(backend_named(name).pack(parts, Precision::f32), "weights: weight: expected 20 columns, got [6,21]");
  }
}

TEST_CASE("an unknown backend is a usage error that lists the others") {
  CHECK_THROWS_AS(backend_named("fast"), Error);
  CHECK_THROWS_WITH(backend_named("fast"), Catch::StartsWith("backend: fast: expected auto, "));
}

}  // namespace mha
