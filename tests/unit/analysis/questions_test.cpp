#include "analysis/questions.hpp"

#include <catch2/catch.hpp>

#include "support/attention_example.hpp"

using mha::AttentionMaps;
using mha::AttentionQuestions;

namespace {

AttentionMaps example() { return mha::test::example_maps({"she", "lead", "##s", "it"}, 3, 2); }

double row_sum(const AttentionMaps& maps, std::size_t layer, std::size_t head, std::size_t query) {
  double sum = 0;
  for (std::size_t k = 0; k < maps.tokens(); ++k)
    sum += static_cast<double>(maps.map(layer, head)[query * maps.tokens() + k]);
  return sum;
}

}  // namespace

TEST_CASE("without a question the maps are shown as they are, and nothing is asked") {
  const AttentionQuestions none;
  CHECK_FALSE(none.changes_maps());
  CHECK_FALSE(none.asks());
  CHECK(mha::shown_maps(example(), none).weights == example().weights);
}

TEST_CASE("rows sum to 1 through words, averages and rollout") {
  for (const bool words : {false, true}) {
    for (const bool layers : {false, true}) {
      for (const bool heads : {false, true}) {
        for (const bool rolled : {false, true}) {
          AttentionQuestions questions;
          questions.words = words;
          questions.average_layers = layers;
          questions.average_heads = heads;
          questions.rollout = rolled;
          const AttentionMaps maps = mha::shown_maps(example(), questions);
          CHECK(maps.tokens() == (words ? 5 : 6));
          CHECK(maps.layer_count == (layers || rolled ? 1 : 3));
          CHECK(maps.head_count == (heads || rolled ? 1 : 2));
          for (std::size_t l = 0; l < maps.layer_count; ++l) {
            for (std::size_t h = 0; h < maps.head_count; ++h) {
              for (std::size_t q = 0; q < maps.tokens(); ++q) REQUIRE(row_sum(maps, l, h, q) == Approx(1.0));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("hidden specials are not shown, but answers still know them") {
  AttentionQuestions questions;
  questions.hide_specials = true;
  const AttentionMaps shown = mha::shown_maps(example(), questions);
  CHECK(shown.tokens() == 4);
  CHECK(row_sum(shown, 0, 0, 1) < 1.0);
  CHECK(mha::asked_maps(example(), questions).tokens() == 6);
}

TEST_CASE("rollout is of pieces, joined to words afterwards") {
  AttentionQuestions both;
  both.rollout = both.words = true;
  const AttentionMaps joined = mha::join_words(mha::rollout(example()));
  CHECK(mha::shown_maps(example(), both).weights == joined.weights);
}
