#include "mha/ops/backend.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "support/linear_case.hpp"
#include "support/random.hpp"
#include "support/thread_executor.hpp"

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
  backend.linear(*layer.pack(backend, precision), {x.data(), shape.rows, shape.in}, {y.data(), shape.rows, shape.out},
                 tail, executor);
  return y;
}

}  // namespace

TEST_CASE("every backend's f32 linear agrees with the reference on odd sizes and tails", "[kernels]") {
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

/// Largest Σ|x·w| of an output.
double largest_magnitude(const test::LinearCase& layer, const Shape& shape, const std::vector<float>& x) {
  double largest = 0.0;
  for (std::size_t r = 0; r < shape.rows; ++r) {
    for (std::size_t o = 0; o < shape.out; ++o) {
      double total = 0.0;
      for (std::size_t i = 0; i < shape.in; ++i) {
        total +=
            std::fabs(static_cast<double>(x[r * shape.in + i]) * static_cast<double>(layer.weight[o * shape.in + i]));
      }
      largest = std::max(largest, total);
    }
  }
  return largest;
}

TEST_CASE("lower precisions stay within what their rounding allows", "[kernels]") {
  // Relative to Σ|x·w|. bf16: half a step of 2⁻⁸ for each operand. bf16x3: what two parts leave of each operand
  // (2⁻¹⁷) and the product of the low parts (2⁻¹⁸). bf16x6: float32 sums.
  const std::vector<std::pair<Precision, double>> limits{
      {Precision::bf16, 0x1p-8}, {Precision::bf16x3, 2.5 * 0x1p-17}, {Precision::bf16x6, 0x1p-22}};
  for (const std::string& name : backend_names()) {
    const Backend& backend = backend_named(name);
    for (const auto& [precision, limit] : limits) {
      if (!backend.supports(precision)) continue;
      for (const Shape& shape : kShapes) {
        CAPTURE(name, static_cast<int>(precision), shape.rows, shape.in, shape.out);
        const test::LinearCase layer(shape.in, shape.out, 51);
        const std::vector<float> x = test::normals(shape.rows * shape.in, 52);
        const auto got = run(backend, precision, layer, shape, x, {});
        const auto expected = run(backend_named("reference"), Precision::f32, layer, shape, x, {});
        CHECK(largest_difference(got, expected) <= limit * largest_magnitude(layer, shape, x) + 3e-7);
      }
    }
  }
}

TEST_CASE("int8 stays within half a step of each operand", "[kernels]") {
  for (const std::string& name : backend_names()) {
    const Backend& backend = backend_named(name);
    if (!backend.supports(Precision::int8)) continue;
    for (const Shape& shape : kShapes) {
      CAPTURE(name, shape.rows, shape.in, shape.out);
      const test::LinearCase layer(shape.in, shape.out, 61);
      const std::vector<float> x = test::normals(shape.rows * shape.in, 62);
      const auto got = run(backend, Precision::int8, layer, shape, x, {});
      const auto expected = run(backend_named("reference"), Precision::f32, layer, shape, x, {});
      // Largest of |x| is below 5, of |w| below 0.25: steps of 5/127 and 0.25/127, half of each times the other's sum.
      const double width = static_cast<double>(shape.in);
      CHECK(largest_difference(got, expected) <= width * (5.0 / 254.0 * 0.05 + 0.25 / 254.0) + 1e-3);
    }
  }
}

TEST_CASE("I8 weights are multiplied as the codes they are", "[kernels]") {
  std::vector<std::int8_t> codes(70 * 40);
  std::vector<float> steps(70);
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = 0.001F * static_cast<float>(i + 1);
  LinearWeights weights;
  weights.weight = {
      "w", {DType::i8, {70, 40}, reinterpret_cast<const std::byte*>(codes.data())}, test::view_of(steps, {70})};
  const LinearWeights* parts[] = {&weights};
  // Whole numbers from 0 to 255 are their own codes when both ends are there.
  std::vector<float> x(3 * 40);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 40 == 0 ? 255.0F : static_cast<float>((i % 40 - 1) % 11);
  for (const std::string& name : backend_names()) {
    const Backend& backend = backend_named(name);
    for (const Precision precision : {Precision::f32, Precision::bf16x3, Precision::bf16x6, Precision::int8}) {
      if (!backend.supports(precision)) continue;
      CAPTURE(name, static_cast<int>(precision));
      std::vector<float> y(3 * 70);
      backend.linear(*backend.pack(parts, precision), {x.data(), 3, 40}, {y.data(), 3, 70}, {}, nullptr);
      for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t o = 0; o < 70; ++o) {
          double exact = 0.0;
          for (std::size_t i = 0; i < 40; ++i) exact += static_cast<double>(x[r * 40 + i]) * codes[o * 40 + i];
          CHECK(y[r * 70 + o] == Approx(exact * static_cast<double>(steps[o])).epsilon(1e-5).margin(1e-3));
        }
      }
    }
  }
}

TEST_CASE("a row has the same bits in every batch, at every place and with any number of threads",
          "[kernels][same-bits]") {
  const auto names = backend_names();
#ifdef __SANITIZE_ADDRESS__
  // GCC 12's leak check crashes at exit, at times, on thread-local data of a library that threads loaded at run time.
  const char* const name = "auto";
#else
  const char* const name = GENERATE("auto", "onednn");
#endif
  if (name != std::string("auto") && std::find(names.begin(), names.end(), name) == names.end()) return;
  CAPTURE(name);
  const Backend& backend = backend_named(name);
  const std::size_t width = 100;
  const std::size_t hidden = 1100;  // so many that large batches go through the feed-forward in chunks of it
  test::LinearCase in(width, hidden, 71);
  test::LinearCase out(hidden, width, 72);
  if (GENERATE(false, true)) {
    in.to_codes();
    out.to_codes();
  }
  const std::size_t rows = 700;
  const std::vector<float> x = test::normals(rows * width, 73);
  const std::vector<float> gamma = test::normals(width, 74);
  const RowNorm norm{false, gamma.data(), nullptr, 1e-5F};
  test::ThreadExecutor two(2);
  test::ThreadExecutor five(5);
  for (const Precision precision :
       {Precision::f32, Precision::bf16, Precision::bf16x3, Precision::bf16x6, Precision::w8a16, Precision::int8}) {
    if (!backend.supports(precision)) continue;
    const auto first = in.pack(backend, precision);
    const auto second = out.pack(backend, precision);
    const auto forward = [&](const std::vector<float>& batch, Executor* executor) {
      const std::size_t count = batch.size() / width;
      std::vector<float> y(batch.size());
      std::vector<float> middle(count * hidden);
      LinearTail tail;
      tail.activation = Activation::gelu;
      backend.linear(*first, {batch.data(), count, width}, {middle.data(), count, hidden}, tail, executor);
      LinearTail last;
      last.residual = {batch.data(), count, width};
      last.norm = &norm;
      backend.feed_forward(*first, *second, {batch.data(), count, width}, Activation::gelu, {y.data(), count, width},
                           last, executor);
      for (std::size_t r = 0; r < count; ++r) y[r * width] += middle[r * hidden];
      return y;
    };
    const std::vector<float> whole = forward(x, nullptr);
    CAPTURE(static_cast<int>(precision));
    CHECK(forward(x, &two) == whole);
    CHECK(forward(x, &five) == whole);
    std::mt19937 engine(75);
    for (int mixture = 0; mixture < 12; ++mixture) {
      const std::size_t count = 1 + engine() % (mixture < 6 ? 40 : 400);
      std::vector<std::size_t> chosen(count);
      std::vector<float> batch(count * width);
      for (std::size_t r = 0; r < count; ++r) {
        chosen[r] = engine() % rows;
        std::copy_n(x.data() + chosen[r] * width, width, batch.data() + r * width);
      }
      Executor* executors[] = {nullptr, &two, &five};
      const std::vector<float> y = forward(batch, executors[mixture % 3]);
      bool same = true;
      for (std::size_t r = 0; r < count; ++r) {
        same = same &&
               std::equal(y.begin() + static_cast<std::ptrdiff_t>(r * width),
                          y.begin() + static_cast<std::ptrdiff_t>((r + 1) * width), whole.data() + chosen[r] * width);
      }
      CHECK(same);
    }
  }
}

TEST_CASE("a row has the same bits at every place of a block, whatever the widths", "[kernels][same-bits]") {
  const auto names = backend_names();
  for (const std::string name : {"auto", "onednn"}) {
    if (name != "auto" && std::find(names.begin(), names.end(), name) == names.end()) continue;
    const Backend& backend = backend_named(name);
    for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{1, 1},
                                  {3, 17},
                                  {31, 64},
                                  {100, 33},
                                  {384, 96},
                                  {130, 1},
                                  {768, 48},
                                  {1536, 20}}) {
      const test::LinearCase layer(in, out, 91);
      const auto packed = layer.pack(backend, Precision::f32);
      const std::vector<float> one = test::normals(in, 92);
      for (const std::size_t rows : {2U, 7U, 24U, 31U, 65U}) {
        CAPTURE(name, in, out, rows);
        std::vector<float> x(rows * in);
        for (std::size_t r = 0; r < rows; ++r) std::copy_n(one.data(), in, x.data() + r * in);
        std::vector<float> y(rows * out);
        std::vector<float> alone(out);
        backend.linear(*packed, {x.data(), rows, in}, {y.data(), rows, out}, {}, nullptr);
        backend.linear(*packed, {one.data(), 1, in}, {alone.data(), 1, out}, {}, nullptr);
        bool same = true;
        for (std::size_t r = 0; r < rows; ++r) {
          same = same && std::memcmp(y.data() + r * out, alone.data(), out * sizeof(float)) == 0;
        }
        CHECK(same);
      }
    }
  }
}

TEST_CASE("joined weights are one projection, row after row", "[kernels]") {
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

TEST_CASE("a residual may be the memory of the result", "[kernels]") {
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

TEST_CASE("feed-forward is its two products, plain and gated", "[kernels]") {
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

TEST_CASE("weights that do not fit are refused by name", "[kernels]") {
  const test::LinearCase a(20, 6, 1);
  const test::LinearCase b(21, 6, 2);
  const LinearWeights* parts[] = {&a.weights, &b.weights};
  for (const std::string& name : backend_names()) {
    CHECK_THROWS_WITH(backend_named(name).pack(parts, Precision::f32),
                      "weights: weight: expected 20 columns, got [6,21]");
  }
}

TEST_CASE("an unknown backend is a usage error that lists the others") {
  CHECK_THROWS_AS(backend_named("fast"), Error);
  CHECK_THROWS_WITH(backend_named("fast"), Catch::StartsWith("backend: fast: expected auto, "));
}

}  // namespace mha
