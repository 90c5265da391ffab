#include "cli/quality.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::test::error_of;
using mha::test::TemporaryFolder;

TEST_CASE("rank correlation knows nothing but ranks, and ties share theirs") {
  using mha::cli::spearman;
  CHECK(spearman(std::vector{1.0, 2.0, 3.0}, std::vector{10.0, 20.0, 1000.0}) == Approx(1));
  CHECK(spearman(std::vector{1.0, 2.0, 3.0}, std::vector{3.0, 2.0, 1.0}) == Approx(-1));
  CHECK(spearman(std::vector{1.0, 2.0, 3.0, 4.0}, std::vector{1.0, 3.0, 2.0, 4.0}) == Approx(0.8));
  // scipy.stats.spearmanr([1, 2, 2, 3], [1, 2, 3, 4])
  CHECK(spearman(std::vector{1.0, 2.0, 2.0, 3.0}, std::vector{1.0, 2.0, 3.0, 4.0}) == Approx(0.9486832980505138));
  CHECK(spearman(std::vector{1.0, 1.0}, std::vector{1.0, 2.0}) == 0);
}

TEST_CASE("rated pairs are read row by row, and a bad row is named") {
  const TemporaryFolder folder;
  const auto pairs = mha::cli::read_rated_pairs(folder.write("a.tsv", "4.5\tone\ttwo\tgenre\n0\t\tthree\n").string());
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].score == 4.5);
  CHECK(pairs[0].second == "two");
  CHECK(pairs[1].first.empty());
  const std::string bad = folder.write("b.tsv", "1\ta\tb\nx\ta\tb\n").string();
  CHECK_THAT(error_of(mha::ErrorKind::input, [&] { mha::cli::read_rated_pairs(bad); }),
             Contains("b.tsv") && Contains("2"));
}
