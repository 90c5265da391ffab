#include "encoder/score_bias.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "encoder/scratch.hpp"
#include "ops/vector.hpp"
#include "support/random.hpp"

using namespace mha;

// Both tables were printed by transformers 5.24 (T5Attention._relative_position_bucket, make_log_bucket_position).
TEST_CASE("distances fall into the reference's T5 buckets") {
  const std::vector<std::size_t> expected{5, 5, 5, 5, 5, 5, 5,  4,  4,  4,  4,  4,  4,  4,  3,  3,  3,  3,  2,  1, 0,
                                          7, 8, 9, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11};
  for (std::int64_t distance = -20; distance <= 20; ++distance) {
    CHECK(relative_bucket(distance, 12, 30) == expected[static_cast<std::size_t>(distance + 20)]);
  }
  const std::vector<std::size_t> sevens{0,  23, 25, 26, 27, 28, 28, 29, 29, 29, 30,
                                        30, 30, 31, 31, 31, 31, 31, 31, 31, 31};
  for (std::size_t i = 0; i < sevens.size(); ++i)
    CHECK(relative_bucket(static_cast<std::int64_t>(7 * i), 32, 128) == sevens[i]);
}

TEST_CASE("distances fall into the reference's DeBERTa buckets, and are themselves where there are none") {
  const std::vector<std::int64_t> expected{-11, -11, -11, -11, -11, -11, -10, -10, -10, -9, -9, -8, -7, -1,
                                           5,   8,   9,   9,   10,  10,  10,  10,  11,  11, 11, 11, 11};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(log_bucket(-79 + 6 * static_cast<std::int64_t>(i), 12, 80) == expected[i]);
  for (std::int64_t distance = -100; distance <= 100; ++distance) {
    CHECK(log_bucket(distance, 0, 80) == distance);
    CHECK(log_bucket(-distance, 6, 50) == -log_bucket(distance, 6, 50));
  }
}

TEST_CASE("ALiBi slopes are those of the paper, also for a number of heads that is no power of two") {
  const auto eight = alibi_slopes(8);
  for (std::size_t head = 0; head < 8; ++head)
    CHECK(eight[head] == Approx(std::pow(0.5, static_cast<double>(head + 1))));
  const auto six = alibi_slopes(6);
  const std::vector<double> expected{0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
  for (std::size_t head = 0; head < 6; ++head) CHECK(six[head] == Approx(expected[head]));
}

TEST_CASE("a distance bias adds the same term wherever key - query is the same") {
  DistanceBias bias;
  const auto term = [](std::size_t head, std::int64_t distance) {
    return static_cast<float>(1000 * head) + static_cast<float>(distance);
  };
  for (const std::size_t rows : {5U, 3U, 200U}) {
    bias.reserve(2, rows, term);
    std::vector<float> scores(2 * (rows + 1), 1.0F);
    bias.add(0, 1, rows - 2, 2, rows, scores.data(), rows + 1);
    for (std::size_t r = 0; r < 2; ++r) {
      for (std::size_t k = 0; k < rows; ++k) {
        const auto distance = static_cast<std::int64_t>(k) - static_cast<std::int64_t>(rows - 2 + r);
        CHECK(scores[r * (rows + 1) + k] == 1.0F + term(1, distance));
      }
      CHECK(scores[r * (rows + 1) + rows] == 1.0F);
    }
  }
}

TEST_CASE("disentangled terms are the two products at the row of the distance") {
  const std::size_t tokens = 13;
  const std::size_t d_head = 4;
  PositionConfig::Disentangled config{true, true, 6, 10, false, false};
  RelativeRows rows;
  rows.reserve(config, tokens);
  const auto q = test::normals(tokens * 2 * d_head, 1);
  const auto k = test::normals(tokens * 2 * d_head, 2);
  const auto pq = test::normals(rows.count * 2 * d_head, 3);
  const auto pk = test::normals(rows.count * 2 * d_head, 4);
  DisentangledBias bias;
  bias.query = {q.data(), tokens, 2 * d_head};
  bias.key = {k.data(), tokens, 2 * d_head};
  bias.position_query = {pq.data(), rows.count, 2 * d_head};
  bias.position_key = {pk.data(), rows.count, 2 * d_head};
  bias.d_head = d_head;
  bias.row_of_distance = &rows.of_distance;
  bias.length = rows.length;
  std::vector<float> scores(tokens * tokens, 0.0F);
  bias.add(0, 1, 0, tokens, tokens, scores.data(), tokens);
  const std::int64_t span = 6;
  for (std::size_t i = 0; i < tokens; ++i) {
    for (std::size_t j = 0; j < tokens; ++j) {
      const std::int64_t bucket = log_bucket(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j), 6, 10);
      const auto row = static_cast<std::size_t>(std::clamp(bucket + span, std::int64_t{0}, 2 * span - 1)) - rows.first;
      const float expected = dot(q.data() + (2 * i + 1) * d_head, pk.data() + (2 * row + 1) * d_head, d_head) +
                             dot(k.data() + (2 * j + 1) * d_head, pq.data() + (2 * row + 1) * d_head, d_head);
      CHECK(scores[i * tokens + j] == Approx(expected).margin(1e-6));
    }
  }
}
