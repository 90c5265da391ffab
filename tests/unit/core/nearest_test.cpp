#include "core/nearest.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using mha::edit_distance;
using mha::nearest;

TEST_CASE("the edit distance counts insertions, deletions and substitutions") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("mean", "maen") == 2);
}

TEST_CASE("the nearest name is found when it is near, and none when it is far") {
  const std::vector<std::string> names{"cls", "mean", "max", "weighted_mean"};
  CHECK(nearest("maen", names) == std::nullopt);
  CHECK(nearest("meam", names) == "mean");
  CHECK(nearest("weighted-mean", names) == "weighted_mean");
  CHECK(nearest("something else", names) == std::nullopt);
  CHECK(nearest(std::string(300, 'a'), names) == std::nullopt);
  CHECK(nearest("x", std::vector<std::string>{}) == std::nullopt);
}
