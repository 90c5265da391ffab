#include "mha/model/sentence.hpp"

#include <catch2/catch.hpp>
#include <vector>

using Values = std::vector<float>;

TEST_CASE("vectors are compared as the model says") {
  mha::SentenceConfig sentence;
  const Values x{1, 2};
  const Values y{4, -2};
  CHECK(mha::similarity(sentence, x, y) == Approx(0));
  CHECK(mha::similarity(sentence, x, Values{2, 4}) == Approx(1));
  sentence.similarity = "dot";
  CHECK(mha::similarity(sentence, x, Values{2, 4}) == 10);
  sentence.similarity = "euclidean";
  CHECK(mha::similarity(sentence, x, y) == -5);
  sentence.similarity = "manhattan";
  CHECK(mha::similarity(sentence, x, y) == -7);
}
