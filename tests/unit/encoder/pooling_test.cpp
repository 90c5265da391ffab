#include "mha/encoder/pooling.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::PoolingMode;
using mha::test::error_of;

namespace {

using Values = std::vector<float>;

const mha::Backend& reference() { return mha::backend_named("reference"); }

// Three tokens of width 2.
const Values kHidden{1, -2, 3, 4, 5, 0};

Values pooled(std::vector<PoolingMode> modes, std::size_t first = 0, bool normalize = false, std::size_t dims = 0) {
  mha::PoolingConfig sentence;
  sentence.pooling = std::move(modes);
  const Values pooler{7, 8};
  Values out;
  mha::Workspace workspace;
  mha::pool(sentence, {kHidden.data(), 3, 2}, first, pooler.data(), dims, normalize, reference(), workspace, out);
  return out;
}

}  // namespace

TEST_CASE("every pooling mode gives what its definition says") {
  using enum PoolingMode;
  CHECK(pooled({cls}) == Values{1, -2});
  CHECK(pooled({last}) == Values{5, 0});
  CHECK(pooled({max}) == Values{5, 4});
  CHECK(pooled({pooler}) == Values{7, 8});
  CHECK(pooled({mean}) == Values{3, 2.0F / 3});
  CHECK(pooled({mean_sqrt_len}) ==
        Values{static_cast<float>(9 / std::sqrt(3.0)), static_cast<float>(2 / std::sqrt(3.0))});
  CHECK(pooled({weighted_mean}) == Values{22.0F / 6, 1});
  CHECK(pooled({last, cls}) == Values{5, 0, 1, -2});
}

TEST_CASE("a prompt that is left out takes no part, weights still count from the first token") {
  using enum PoolingMode;
  CHECK(pooled({cls}, 1) == Values{3, 4});
  CHECK(pooled({mean}, 1) == Values{4, 2});
  CHECK(pooled({max}, 2) == Values{5, 0});
  CHECK(pooled({weighted_mean}, 1) == Values{21.0F / 5, 8.0F / 5});
  CHECK_THAT(error_of(ErrorKind::input, [] { pooled({mean}, 3); }), Contains("no tokens to pool"));
}

TEST_CASE("dimensions are cut first and normalised then") {
  using enum PoolingMode;
  CHECK(pooled({last, cls}, 0, true, 2) == Values{1, 0});
  CHECK(pooled({last, cls}, 0, false, 3) == Values{5, 0, 1});
  CHECK_THAT(error_of(ErrorKind::usage, [] { pooled({cls}, 0, false, 3); }), Contains("at most 2"));
}

TEST_CASE("a vector of zeros stays one when it is normalised") {
  const Values zeros{0, 0};
  Values out;
  mha::Workspace workspace;
  mha::pool({}, {zeros.data(), 1, 2}, 0, nullptr, 0, true, reference(), workspace, out);
  CHECK(out == zeros);
}

TEST_CASE("dense modules follow the pooling, each on what the one before gives") {
  const Values first{1, 0, 0, 1, 1, 1};  // [3, 2]
  const Values bias{0, 0, 1};
  const Values second{1, 1, 1};  // [1, 3]
  const auto view = [](const Values& values, std::vector<std::size_t> shape) {
    return mha::TensorView{mha::DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(values.data())};
  };
  mha::PoolingConfig sentence;
  sentence.pooling = {PoolingMode::cls};
  sentence.dense.resize(2);
  sentence.dense[0].in = 2;
  sentence.dense[0].out = 3;
  sentence.dense[0].activation = mha::Activation::relu;
  sentence.dense[0].linear = {{"a", view(first, {3, 2}), {}}, {"b", view(bias, {3}), {}}};
  sentence.dense[1].in = 3;
  sentence.dense[1].out = 1;
  sentence.dense[1].activation = mha::Activation::none;
  sentence.dense[1].linear.weight = {"c", view(second, {1, 3}), {}};
  for (mha::DenseModule& dense : sentence.dense) mha::pack_dense(dense, reference());
  Values out;
  mha::Workspace workspace;
  // relu(1, -2, 1 - 2 + 1) = (1, 0, 0), summed 1.
  mha::pool(sentence, {kHidden.data(), 3, 2}, 0, nullptr, 0, false, reference(), workspace, out);
  CHECK(out == Values{1});
  sentence.pooling = {PoolingMode::cls, PoolingMode::mean};
  CHECK_THAT(error_of(ErrorKind::usage,
                      [&] {
                        mha::pool(sentence, {kHidden.data(), 3, 2}, 0, nullptr, 0, false, reference(), workspace, out);
                      }),
             Contains("expected 2"));
}

TEST_CASE("a vector that is not finite is an error, never an output") {
  const Values bad{1, std::numeric_limits<float>::infinity()};
  Values out;
  mha::Workspace workspace;
  CHECK_THAT(error_of(ErrorKind::input,
                      [&] {
                        mha::pool({}, {bad.data(), 1, 2}, 0, nullptr, 0, false, reference(), workspace, out);
                      }),
             Contains("finite numbers"));
}

TEST_CASE("a residual is added to what a dense module gives, projected if the widths differ") {
  const Values identity{1, 0, 0, 1};  // [2, 2]
  const Values narrow{1, 1};          // [1, 2]
  const Values projection{10, 0};     // [1, 2]
  const auto view = [](const Values& values, std::vector<std::size_t> shape) {
    return mha::TensorView{mha::DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(values.data())};
  };
  mha::PoolingConfig config;
  config.pooling = {PoolingMode::cls};
  config.dense.resize(2);
  config.dense[0].in = config.dense[0].out = 2;
  config.dense[0].activation = mha::Activation::relu;
  config.dense[0].residual = true;
  config.dense[0].linear.weight = {"a", view(identity, {2, 2}), {}};
  config.dense[1].in = 2;
  config.dense[1].out = 1;
  config.dense[1].activation = mha::Activation::none;
  config.dense[1].residual = true;
  config.dense[1].linear.weight = {"b", view(narrow, {1, 2}), {}};
  config.dense[1].residual_linear.weight = {"c", view(projection, {1, 2}), {}};
  for (mha::DenseModule& dense : config.dense) mha::pack_dense(dense, reference());
  Values out;
  mha::Workspace workspace;
  // relu(1, -2) + (1, -2) = (2, -2); 2 - 2 + 10 · 2 = 20.
  mha::pool(config, {kHidden.data(), 3, 2}, 0, nullptr, 0, false, reference(), workspace, out);
  CHECK(out == Values{20});
}

TEST_CASE("token vectors go through their own layers before pooling") {
  const Values swap{0, 1, 1, 0};  // [2, 2]
  mha::PoolingConfig config;
  config.token_dense.resize(1);
  config.token_dense[0].in = config.token_dense[0].out = 2;
  config.token_dense[0].activation = mha::Activation::none;
  config.token_dense[0].linear.weight = {
      "a", {mha::DType::f32, {2, 2}, reinterpret_cast<const std::byte*>(swap.data())}, {}};
  config.normalize_tokens = true;
  mha::pack_dense(config.token_dense[0], reference());
  mha::Workspace workspace;
  const mha::ConstMatrix tokens = mha::token_vectors(config, {kHidden.data(), 3, 2}, reference(), workspace);
  REQUIRE(tokens.rows == 3);
  CHECK(tokens.row(1)[0] == Approx(0.8));
  CHECK(tokens.row(1)[1] == Approx(0.6));
  config.pooling = {PoolingMode::last};
  Values out;
  mha::pool(config, {kHidden.data(), 3, 2}, 0, nullptr, 0, false, reference(), workspace, out);
  CHECK(out == Values{0, 1});
}

TEST_CASE("the model's own cut follows the normalisation, a caller's comes before it") {
  mha::PoolingConfig config;
  config.pooling = {PoolingMode::cls, PoolingMode::last};  // 1 -2 5 0
  config.truncate_dim = 1;
  Values out;
  mha::Workspace workspace;
  mha::pool(config, {kHidden.data(), 3, 2}, 0, nullptr, 0, true, reference(), workspace, out);
  REQUIRE(out.size() == 1);
  CHECK(out[0] == Approx(1 / std::sqrt(30.0)));
  mha::pool(config, {kHidden.data(), 3, 2}, 0, nullptr, 2, true, reference(), workspace, out);
  REQUIRE(out.size() == 2);
  CHECK(out[0] == Approx(1 / std::sqrt(5.0)));
}
