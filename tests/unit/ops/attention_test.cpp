#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mha/ops/backend.hpp"
#include "support/cpu_levels.hpp"
#include "support/linear_case.hpp"
#include "support/random.hpp"
#include "support/thread_executor.hpp"

namespace mha {
namespace {

/// A distance term, as ALiBi has it.
class DistanceBias final : public ScoreBias {
 public:
  void add(std::size_t, std::size_t head, std::size_t query_begin, std::size_t queries, std::size_t keys, float* scores,
           std::size_t stride) const override {
    for (std::size_t r = 0; r < queries; ++r) {
      for (std::size_t k = 0; k < keys; ++k) {
        const auto distance = std::abs(static_cast<float>(query_begin + r) - static_cast<float>(k));
        scores[r * stride + k] -= 0.1F * static_cast<float>(head + 1) * distance;
      }
    }
  }
};

struct Case {
  std::vector<std::size_t> lengths;
  std::size_t n_heads, n_kv_heads, d_head, window;
  bool bias;
  bool ablate;
};

struct Result {
  std::vector<float> context, scores, scaled, probs;
};

/// A call for the case, and what it points to; Q, K and V are still to be set.
struct Prepared {
  std::vector<std::size_t> begin{0};
  std::vector<std::uint8_t> ablated;
  std::vector<std::size_t> heads;
  std::vector<std::size_t> capture_begin{0};
  DistanceBias bias;
  Result result;
  AttentionCall call;
  std::size_t rows = 0;
  std::size_t width, kv_width;

  Prepared(const Case& c, bool capture) : width(c.n_heads * c.d_head), kv_width(c.n_kv_heads * c.d_head) {
    for (const std::size_t length : c.lengths) begin.push_back(begin.back() + length);
    rows = begin.back();
    result.context.resize(rows * width);
    call.context = {result.context.data(), rows, width};
    call.row_begin = begin;
    call.n_heads = c.n_heads;
    call.n_kv_heads = c.n_kv_heads;
    call.d_head = c.d_head;
    call.scale = 1.0F / std::sqrt(static_cast<float>(c.d_head));
    call.window = c.window;
    if (c.bias) call.bias = &bias;
    ablated.resize(c.n_heads, 0);
    ablated.back() = 1;
    if (c.ablate) call.ablated = ablated;
    heads.resize(c.n_heads);
    std::iota(heads.rbegin(), heads.rend(), std::size_t{0});
    for (const std::size_t length : c.lengths) {
      capture_begin.push_back(capture_begin.back() + c.n_heads * length * length);
    }
    if (!capture) return;
    call.capture_heads = heads;
    call.capture_begin = capture_begin;
    for (auto* target : {&result.scores, &result.scaled, &result.probs}) target->resize(capture_begin.back());
    call.scores = result.scores.data();
    call.scaled = result.scaled.data();
    call.probs = result.probs.data();
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// Q, K and V are the columns of qkv [rows, width + 2 · kv_width].
  void look_at(Matrix qkv) {
    call.query = qkv.cols_of(0, width);
    call.key = qkv.cols_of(width, kv_width);
    call.value = qkv.cols_of(width + kv_width, kv_width);
  }
};

Result run(const Backend& backend, const Case& c, bool capture, Precision precision = Precision::f32,
           Executor* executor = nullptr) {
  Prepared prepared(c, capture);
  const std::size_t joined = prepared.width + 2 * prepared.kv_width;
  std::vector<float> qkv = test::normals(prepared.rows * joined, 41);
  prepared.look_at({qkv.data(), prepared.rows, joined});
  backend.attention(prepared.call, precision, executor);
  return std::move(prepared.result);
}

/// Some change of each element that depends on its row.
void turn(Matrix query, Matrix key, Matrix value) {
  for (const Matrix& x : {query, key, value}) {
    for (std::size_t r = 0; r < x.rows; ++r) {
      for (std::size_t col = 0; col < x.cols; ++col) x.row(r)[col] *= 0.5F + 0.125F * static_cast<float>(r % 7);
    }
  }
}

/// From x: by one call where `fused`, else step by step. False where the backend does not serve the call.
bool run_projected(const Backend& backend, const Case& c, bool fused, bool turned, Precision precision,
                   Executor* executor, Result& result) {
  Prepared prepared(c, true);
  const std::size_t joined = prepared.width + 2 * prepared.kv_width;
  const test::LinearCase layer(80, joined, 43);
  const auto packed = layer.pack(backend, precision);
  const std::vector<float> x = test::normals(prepared.rows * 80, 44);
  const ConstMatrix input{x.data(), prepared.rows, 80};
  if (fused) {
    const RotateHeads rotate = turned ? RotateHeads(turn) : RotateHeads();
    if (!backend.project_and_attend(*packed, input, prepared.call, rotate, precision, executor)) return false;
  } else {
    std::vector<float> qkv(prepared.rows * joined);
    const Matrix y{qkv.data(), prepared.rows, joined};
    backend.linear(*packed, input, y, {}, executor);
    prepared.look_at(y);
    if (turned)
      turn(y.cols_of(0, prepared.width), y.cols_of(prepared.width, prepared.kv_width),
           y.cols_of(prepared.width + prepared.kv_width, prepared.kv_width));
    backend.attention(prepared.call, precision, executor);
  }
  result = std::move(prepared.result);
  return true;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;  // two infinities
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest;
}

const std::vector<Case> kCases{{{1}, 1, 1, 1, 0, false, false},          {{5, 1, 17}, 2, 2, 32, 0, false, false},
                               {{33, 40}, 3, 3, 20, 0, false, true},     {{64, 7}, 4, 2, 64, 0, true, false},
                               {{100, 3}, 2, 1, 33, 9, false, false},    {{50}, 2, 2, 16, 4, true, true},
                               {{130, 2, 70}, 6, 3, 8, 16, false, true}, {{31}, 2, 2, 128, 0, false, false}};

}  // namespace

TEST_CASE("attention agrees with the reference: lengths, groups, windows, biases, ablation, captures", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    for (const std::string& name : backend_names()) {
      for (std::size_t i = 0; i < kCases.size(); ++i) {
        CAPTURE(level, name, i);
        const Result got = run(backend_named(name), kCases[i], true);
        const Result expected = run(backend_named("reference"), kCases[i], true);
        // Scores of d_head products of about 1 each: d_head·2⁻²⁴ at most; probabilities follow relatively.
        const double tolerance = 0x1p-24 * (8.0 * static_cast<double>(kCases[i].d_head) + 64.0);
        CHECK(largest_difference(got.context, expected.context) <= tolerance);
        CHECK(largest_difference(got.scores, expected.scores) <= tolerance);
        CHECK(largest_difference(got.scaled, expected.scaled) <= tolerance);
        CHECK(largest_difference(got.probs, expected.probs) <= tolerance);
      }
    }
  });
}

TEST_CASE("attention in other precisions stays within what their rounding allows", "[kernels]") {
  // Queries, keys and values are normal numbers. bf16: scores of √d_head operands rounded to 2⁻⁹ each, then values.
  const std::vector<std::pair<Precision, double>> limits{
      {Precision::bf16, 0.05}, {Precision::bf16x3, 2e-4}, {Precision::bf16x6, 1.2e-5}};
  for (const std::string& name : backend_names()) {
    for (const auto& [precision, limit] : limits) {
      if (!backend_named(name).supports(precision)) continue;
      for (std::size_t i = 0; i < kCases.size(); ++i) {
        CAPTURE(name, static_cast<int>(precision), i);
        const Result got = run(backend_named(name), kCases[i], true, precision);
        const Result expected = run(backend_named("reference"), kCases[i], true);
        CHECK(largest_difference(got.context, expected.context) <= limit);
        CHECK(largest_difference(got.scores, expected.scores) <= 4.0 * limit);
        CHECK(largest_difference(got.scaled, expected.scaled) <= limit);
        CHECK(largest_difference(got.probs, expected.probs) <= limit);
        CHECK(run(backend_named(name), kCases[i], false, precision).context == got.context);
      }
    }
  }
}

TEST_CASE("attention of an input has the same bits alone and in a batch, whatever the threads", "[kernels]") {
  test::ThreadExecutor three(3);
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::bf16x6}) {
    const Backend& backend = backend_named("auto");
    if (!backend.supports(precision)) continue;
    // The same rows of q, k and v come first in both batches.
    const Case alone{{45}, 3, 3, 32, 0, false, false};
    const Case mixed{{45, 7, 100, 16, 17}, 3, 3, 32, 0, false, false};
    const Result single = run(backend, alone, false, precision);
    const Result batch = run(backend, mixed, false, precision);
    CAPTURE(static_cast<int>(precision));
    CHECK(std::equal(single.context.begin(), single.context.end(), batch.context.begin()));
    CHECK(run(backend, mixed, false, precision, &three).context == batch.context);
  }
}

TEST_CASE("capturing attention changes no bit of the context", "[kernels]") {
  test::for_each_simd_level([](const std::string& level) {
    for (const std::string& name : backend_names()) {
      for (const Case& c : kCases) {
        CAPTURE(level, name);
        CHECK(run(backend_named(name), c, true).context == run(backend_named(name), c, false).context);
      }
    }
  });
}

TEST_CASE("captured rows of attention sum to one", "[kernels]") {
  const Case c{{19, 40}, 2, 2, 32, 0, false, false};
  for (const std::string& name : backend_names()) {
    const Result result = run(backend_named(name), c, true);
    const std::size_t first = 2 * 19 * 19;
    for (std::size_t row = 0; row < 2 * 40; ++row) {
      const float* probs = result.probs.data() + first + row * 40;
      CHECK(std::accumulate(probs, probs + 40, 0.0) == Approx(1.0).epsilon(1e-6));
    }
  }
}

TEST_CASE("heads projected and attended to one by one have the bits of projection, rotation and attention",
          "[kernels]") {
  const std::vector<Case> cases{{{45, 7, 100, 16, 17}, 4, 4, 32, 0, false, false},
                                {{45, 30}, 4, 2, 64, 0, true, true},
                                {{300}, 2, 2, 32, 9, false, false}};
  test::ThreadExecutor two(2);
  const Backend& backend = backend_named("native");
  std::size_t served = 0;
  for (const Precision precision :
       {Precision::f32, Precision::bf16, Precision::bf16x3, Precision::bf16x6, Precision::int8}) {
    if (!backend.supports(precision)) continue;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&two)}) {
        for (const bool turned : {false, true}) {
          CAPTURE(static_cast<int>(precision), i, executor != nullptr, turned);
          Result got, expected;
          if (!run_projected(backend, cases[i], true, turned, precision, executor, got)) continue;
          ++served;
          run_projected(backend, cases[i], false, turned, precision, nullptr, expected);
          CHECK(got.context == expected.context);
          CHECK(got.scores == expected.scores);
          CHECK(got.scaled == expected.scaled);
          CHECK(got.probs == expected.probs);
        }
      }
    }
  }
  // Panels of 32 columns, as tiles have them, hold whole heads.
  CHECK((served > 0 || !backend.supports(Precision::bf16x6)));
}

}  // namespace mha
