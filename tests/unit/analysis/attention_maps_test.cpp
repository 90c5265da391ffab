#include "mha/analysis/attention_maps.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "mha/core/error.hpp"
#include "support/attention_example.hpp"

using mha::AttentionMaps;
using mha::test::example_maps;

namespace {

double row_sum(const AttentionMaps& maps, std::size_t layer, std::size_t head, std::size_t query) {
  const float* row = maps.map(layer, head) + query * maps.tokens();
  return std::accumulate(row, row + maps.tokens(), 0.0);
}

}  // namespace

TEST_CASE("joining words sums over the key's pieces and averages over the query's, so rows still sum to 1") {
  const AttentionMaps maps = example_maps({"a", "scala", "##ble", "api"}, 2, 3);
  const AttentionMaps words = mha::join_words(maps);
  REQUIRE(words.tokens() == 5);
  CHECK(words.labels[2].text == "scalable");
  CHECK(words.labels[2].pieces == 2);
  CHECK(words.labels[2].begin == 2);
  CHECK(words.labels[2].end == 10);
  for (std::size_t q = 0; q < words.tokens(); ++q) CHECK(row_sum(words, 1, 2, q) == Approx(1.0).margin(1e-6));
  const float* from = maps.map(1, 2);
  const double expected = ((from[2 * 6 + 2] + from[2 * 6 + 3]) + (from[3 * 6 + 2] + from[3 * 6 + 3])) / 2.0;
  CHECK(words.map(1, 2)[2 * 5 + 2] == Approx(expected).margin(1e-6));
}

TEST_CASE("equal word numbers in the text and in its pair are different words") {
  AttentionMaps maps = example_maps({"yes", "no"}, 1, 1);
  maps.labels[2].word = maps.labels[1].word;
  maps.labels[2].sequence = 1;
  CHECK(mha::join_words(maps).tokens() == maps.tokens());
}

TEST_CASE("hiding specials keeps the other weights as they are") {
  const AttentionMaps maps = example_maps({"she", "leads"}, 1, 2);
  const AttentionMaps shown = mha::without_specials(maps);
  REQUIRE(shown.tokens() == 2);
  CHECK(shown.map(0, 1)[1] == maps.map(0, 1)[1 * 4 + 2]);
  CHECK(row_sum(shown, 0, 1, 0) < 1.0);
}

TEST_CASE("averaging keeps the axis with extent 1 and the rows at sum 1") {
  const AttentionMaps maps = example_maps({"she", "is", "great"}, 3, 2);
  const AttentionMaps heads = mha::average_heads(maps);
  CHECK(heads.layer_count == 3);
  CHECK(heads.head_count == 1);
  const AttentionMaps all = mha::average_layers(heads);
  CHECK(all.weights.size() == maps.tokens() * maps.tokens());
  CHECK(all.name(0, 0) == "mean.mean");
  CHECK(row_sum(all, 0, 0, 2) == Approx(1.0).margin(1e-6));
}

TEST_CASE("rollout of one layer is half attention, half identity, and of several their product") {
  const AttentionMaps one = example_maps({"x"}, 1, 2);
  const AttentionMaps mean = mha::average_heads(one);
  const AttentionMaps rolled = mha::rollout(one);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(rolled.weights[i] == Approx(0.5 * mean.weights[i] + (i % 4 == 0 ? 0.5 : 0.0)).margin(1e-6));
  }
  const AttentionMaps deep = mha::rollout(example_maps({"x", "y"}, 4, 3));
  for (std::size_t q = 0; q < deep.tokens(); ++q) CHECK(row_sum(deep, 0, 0, q) == Approx(1.0).margin(1e-5));
}

TEST_CASE("the strongest edges come first, and a head's rank counts the keys above") {
  const AttentionMaps maps = example_maps({"she", "is", "great"}, 2, 2);
  const auto edges = mha::top_edges(maps, 2);
  REQUIRE(edges.size() == 2 * 2 * 5 * 2);
  CHECK(edges[0].weight >= edges[1].weight);
  const auto found = mha::rank_heads(maps, 1, 3);
  REQUIRE(found.size() == 4);
  for (std::size_t i = 1; i < found.size(); ++i) CHECK(found[i - 1].weight >= found[i].weight);
  for (const auto& edge : found) {
    const auto top = mha::top_edges(maps, edge.rank);
    const auto same = [&](const mha::Edge& e) {
      return e.layer == edge.layer && e.head == edge.head && e.query == 1 && e.key == 3;
    };
    CHECK(std::count_if(top.begin(), top.end(), same) == 1);
  }
}

TEST_CASE("a token is named by text, piece, other case or position, an ambiguous or unknown name is wrong usage") {
  const AttentionMaps maps = example_maps({"She", "is", "a", "lead", "##er", "is"}, 1, 1);
  CHECK(mha::find_label(maps, "She") == 1);
  CHECK(mha::find_label(maps, "she") == 1);
  CHECK(mha::find_label(maps, "##er") == 5);
  CHECK(mha::find_label(maps, "er") == 5);
  CHECK(mha::find_label(maps, "[SEP]") == 7);
  CHECK(mha::find_label(maps, "#3") == 3);
  CHECK_THROWS_WITH(mha::find_label(maps, "is"), Catch::Contains("#2, #6"));
  CHECK_THROWS_WITH(mha::find_label(maps, "who"), Catch::Contains("She is a lead"));
  CHECK_THROWS_WITH(mha::find_label(maps, "#8"), Catch::Contains("below 8"));
}
