#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pipeline/entities.hpp"
#include "pipeline/scores.hpp"

using namespace mha;

TEST_CASE("softmax adds up to one and stands large logits") {
  const std::vector<float> scores = softmax_of(std::vector<float>{1000.0F, 1000.0F, -1000.0F});
  CHECK(scores[0] == Approx(0.5));
  CHECK(scores[1] == Approx(0.5));
  CHECK(scores[2] == 0.0F);
  CHECK(softmax_of({}).empty());
  CHECK(sigmoid_of(0.0F) == 0.5F);
  CHECK(sigmoid_of(-1000.0F) == 0.0F);
}

TEST_CASE("the largest come first, the earlier among equals") {
  CHECK(largest(std::vector<float>{1, 3, 3, 2}, 3) == std::vector<std::size_t>{1, 2, 3});
  CHECK(largest(std::vector<float>{1}, 5) == std::vector<std::size_t>{0});
  CHECK(first_largest(std::vector<float>{1, 3, 3}) == 1);
}

TEST_CASE("a span ends where it begins or later, within its length, inside what is allowed") {
  const std::vector<float> start{9, 0, 1, 5, 0};
  const std::vector<float> end{0, 8, 0, 1, 4};
  const std::vector<bool> allowed{false, true, true, true, true};
  const auto best = best_spans(start, end, allowed, allowed, 15, 2);
  REQUIRE(best.size() == 2);
  CHECK(best[0].first == 3);
  CHECK(best[0].last == 4);
  CHECK(best[1].first == 1);
  CHECK(best[1].last == 1);
  const auto single = best_spans(start, end, allowed, allowed, 1, 1);
  CHECK(single[0].first == single[0].last);
  CHECK(single[0].first == 1);
  CHECK(best_spans(start, end, std::vector<bool>(5), std::vector<bool>(5), 15, 2).empty());
}

TEST_CASE("tokens become entities as each aggregation says") {
  const std::vector<std::string> labels{"O", "B-PER", "I-PER", "LOC"};
  const auto join = [](std::vector<std::string> words) {
    std::string text;
    for (const std::string& word : words) {
      const bool goes_on = word.starts_with("##");
      if (!text.empty() && !goes_on) text += ' ';
      text += goes_on ? word.substr(2) : word;
    }
    return text;
  };
  // "Ann Lee, Rome": Ann B-PER, Le B-PER ##e O, Rome LOC
  const std::vector<ScoredToken> tokens{{1, "Ann", 0, 3, false, {0.1F, 0.8F, 0.1F, 0.0F}},
                                        {2, "Le", 4, 6, false, {0.1F, 0.1F, 0.6F, 0.2F}},
                                        {3, "##e", 6, 7, true, {0.9F, 0.0F, 0.0F, 0.1F}},
                                        {4, "Rome", 9, 13, false, {0.3F, 0.0F, 0.0F, 0.7F}}};
  const auto words = [&](Aggregation aggregation) {
    std::string text;
    for (const Entity& entity : entities_of(tokens, aggregation, labels, join)) {
      text += entity.label + "=" + entity.word + "@" + std::to_string(entity.begin) + "-" + std::to_string(entity.end) +
              ";";
    }
    return text;
  };
  CHECK(words(Aggregation::none) == "B-PER=Ann@0-3;I-PER=Le@4-6;LOC=Rome@9-13;");
  CHECK(words(Aggregation::simple) == "PER=Ann Le@0-6;LOC=Rome@9-13;");
  CHECK(words(Aggregation::first) == "PER=Ann Lee@0-7;LOC=Rome@9-13;");
  CHECK(words(Aggregation::average) == "PER=Ann@0-3;LOC=Rome@9-13;");
  CHECK(words(Aggregation::max) == "PER=Ann@0-3;LOC=Rome@9-13;");
  CHECK(entities_of(tokens, Aggregation::first, labels, join)[0].score == Approx(0.7));
}
