#include "mha/analysis/head_statistics.hpp"

#include <catch2/catch.hpp>

#include "support/attention_example.hpp"

using mha::AttentionMaps;

namespace {

AttentionMaps two_tokens(std::vector<float> weights) {
  AttentionMaps maps = mha::test::example_maps({}, 1, 1);  // [CLS] [SEP]
  maps.weights = std::move(weights);
  return maps;
}

}  // namespace

TEST_CASE("statistics of a head that splits evenly between two tokens") {
  mha::HeadStatisticsSum sum;
  sum.add(two_tokens({0.5F, 0.5F, 0.5F, 0.5F}), false);
  const auto heads = sum.means();
  REQUIRE(heads.size() == 1);
  CHECK(heads[0].entropy == Approx(1.0));
  CHECK(heads[0].self == Approx(0.5));
  CHECK(heads[0].previous == Approx(0.5));
  CHECK(heads[0].next == Approx(0.5));
  CHECK(heads[0].first == Approx(0.5));
  CHECK(heads[0].special == Approx(1.0));
  CHECK(heads[0].distance == Approx(0.5));
  CHECK(heads[0].tokens == 2);
}

TEST_CASE("a query without a previous or next token is left out of that mean") {
  mha::HeadStatisticsSum sum;
  sum.add(two_tokens({0.0F, 1.0F, 1.0F, 0.0F}), false);
  CHECK(sum.means()[0].previous == Approx(1.0));
  CHECK(sum.means()[0].next == Approx(1.0));
  CHECK(sum.means()[0].entropy == Approx(0.0));
}

TEST_CASE("every token weighs the same over a corpus, however the corpus is split over workers") {
  const AttentionMaps a = mha::test::example_maps({"she", "is", "great"}, 2, 2, 1);
  const AttentionMaps b = mha::test::example_maps({"yes"}, 2, 2, 2);
  mha::HeadStatisticsSum together, first, second;
  together.add(a, false);
  together.add(b, false);
  first.add(a, false);
  second.add(b, false);
  first.add(second);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(together.means()[i].entropy == Approx(first.means()[i].entropy));
    CHECK(together.means()[i].tokens == 8);
  }
  mha::HeadStatisticsSum hidden;
  hidden.add(a, true);
  CHECK(hidden.means()[0].tokens == 3);
}

TEST_CASE("the Jensen-Shannon distance is 0 of equal maps, 1 of disjoint ones, and symmetric") {
  const std::vector<float> left{1, 0, 1, 0};
  const std::vector<float> right{0, 1, 0, 1};
  CHECK(mha::jensen_shannon_distance(left.data(), left.data(), 2) == 0.0);
  CHECK(mha::jensen_shannon_distance(left.data(), right.data(), 2) == Approx(1.0));
  const AttentionMaps a = mha::test::example_maps({"x", "y"}, 1, 1, 1);
  const AttentionMaps b = mha::test::example_maps({"x", "y"}, 1, 1, 2);
  CHECK(mha::jensen_shannon_distance(a.map(0, 0), b.map(0, 0), 4) ==
        Approx(mha::jensen_shannon_distance(b.map(0, 0), a.map(0, 0), 4)));
}
