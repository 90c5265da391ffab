#include "analysis/comparison.hpp"

#include <catch2/catch.hpp>

#include "support/attention_example.hpp"

namespace {

mha::ComparedSide example_side() {
  mha::ComparedSide side;
  const auto maps = mha::test::example_maps({"a", "b"}, 2, 2);
  side.tokens = 4;
  side.d_model = 3;
  side.layers = 2;
  side.heads = 2;
  side.attentions = maps.weights;
  for (int i = 0; i < 3 * 4 * 3; ++i) side.hidden_states.push_back(static_cast<float>(i % 7) - 3.0F);
  side.embedding = {0.6F, 0.8F, 0.0F};
  return side;
}

}  // namespace

TEST_CASE("a side compared with itself differs nowhere") {
  const mha::ComparedSide side = example_side();
  const mha::Comparison same = mha::compare(side, side);
  REQUIRE(same.embedding);
  CHECK(same.embedding->cosine == 1.0);
  CHECK(same.layers.size() == 3);
  CHECK(same.heads.size() == 4);
  CHECK(mha::first_over(same, 0.0).empty());
}

TEST_CASE("the first place over the tolerance follows the computation") {
  const mha::ComparedSide a = example_side();
  mha::ComparedSide b = a;
  b.embedding[2] = 1.0F;
  CHECK(mha::first_over(mha::compare(a, b), 0.1).starts_with("embedding"));
  b.hidden_states[2 * 12 + 5] += 1.0F;
  CHECK(mha::first_over(mha::compare(a, b), 0.1).starts_with("hidden_states 2"));
  std::swap(b.attentions[3 * 16], b.attentions[3 * 16 + 1]);
  CHECK(mha::first_over(mha::compare(a, b), 1e-9).starts_with("attention of head 1.1"));
}

TEST_CASE("what has another shape on the other side is left out") {
  const mha::ComparedSide a = example_side();
  mha::ComparedSide b = a;
  b.tokens = 3;
  CHECK(mha::compare(a, b).layers.empty());
  CHECK(mha::compare(a, b).heads.empty());
  CHECK(mha::compare(a, b).embedding);
  CHECK(mha::first_over(mha::compare(a, b), 2).empty());
  b.embedding.pop_back();
  CHECK(mha::first_over(mha::compare(a, b), 2).ends_with("nothing to compare"));
  b = a;
  b.heads = 1;
  CHECK(mha::compare(a, b).heads.empty());
  CHECK(mha::compare(a, b).layers.size() == 3);
}
