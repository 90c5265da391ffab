#include "encoder/position_encoding.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "ops/vector.hpp"
#include "support/random.hpp"

using namespace mha;
using Sinusoidal = PositionConfig::Sinusoidal;
using Rotary = PositionConfig::Rotary;

TEST_CASE("the interleaved table is the formula of Vaswani et al. 2017, also for an odd width") {
  SinusoidalTable table;
  table.reserve(Sinusoidal::interleaved, 80, 7);
  for (const std::size_t position : {0U, 1U, 9U, 79U}) {
    for (std::size_t column = 0; column < 7; ++column) {
      const double angle = static_cast<double>(position) / std::pow(10000.0, static_cast<double>(column / 2 * 2) / 7.0);
      CHECK(table.row(position)[column] == static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  }
}

TEST_CASE("the table in halves has the sines first, the extra column being a sine") {
  SinusoidalTable table;
  table.reserve(Sinusoidal::halves, 10, 5);
  const double angle = 3.0 / std::pow(10000.0, 2.0 / 5.0);
  CHECK(table.row(3)[1] == static_cast<float>(std::sin(angle)));
  CHECK(table.row(3)[2] == static_cast<float>(std::sin(3.0 / std::pow(10000.0, 4.0 / 5.0))));
  CHECK(table.row(3)[3] == static_cast<float>(std::cos(3.0)));
  CHECK(table.row(3)[4] == static_cast<float>(std::cos(angle)));
}

TEST_CASE("a table that grows keeps its values") {
  SinusoidalTable table;
  table.reserve(Sinusoidal::interleaved, 3, 6);
  const std::vector<float> before(table.row(2), table.row(2) + 6);
  table.reserve(Sinusoidal::interleaved, 500, 6);
  CHECK(std::vector<float>(table.row(2), table.row(2) + 6) == before);
}

TEST_CASE("rotation keeps lengths, and products depend on the difference of positions alone") {
  for (const Rotary layout : {Rotary::halves, Rotary::pairs}) {
    PositionConfig config;
    config.rotary = layout;
    config.rotary_base = 100.0;
    RotaryTable table;
    table.reserve(config, false, 40, 8);
    const auto q = test::normals(8, 5);
    const auto k = test::normals(8, 6);
    const auto turned = [&](const std::vector<float>& x, std::size_t position) {
      std::vector<float> rows(40 * 8);
      std::copy(x.begin(), x.end(), rows.begin() + static_cast<std::ptrdiff_t>(position * 8));
      const std::size_t begin[] = {0, 40};
      rotate(layout, table, {rows.data(), 40, 8}, begin, 8, nullptr);
      return std::vector<float>(rows.begin() + static_cast<std::ptrdiff_t>(position * 8),
                                rows.begin() + static_cast<std::ptrdiff_t>(position * 8 + 8));
    };
    const auto product = [&](std::size_t i, std::size_t j) { return dot(turned(q, i).data(), turned(k, j).data(), 8); };
    CHECK(turned(q, 0) == q);
    CHECK(dot(turned(q, 17).data(), turned(q, 17).data(), 8) == Approx(dot(q.data(), q.data(), 8)));
    CHECK(product(5, 2) == Approx(product(30, 27)).margin(1e-5));
    CHECK(product(5, 2) != Approx(product(2, 5)).margin(1e-3));
  }
}

TEST_CASE("positions count from each input's first row, and columns behind the rotated width stay") {
  PositionConfig config;
  config.rotary = Rotary::pairs;
  RotaryTable table;
  table.reserve(config, false, 64, 4);
  const auto start = test::normals(9 * 12, 8);
  auto together = start;
  const std::size_t begin[] = {0, 4, 9};
  rotate(Rotary::pairs, table, {together.data(), 9, 12}, begin, 6, nullptr);
  auto second = std::vector<float>(start.begin() + 4 * 12, start.end());
  const std::size_t alone[] = {0, 5};
  rotate(Rotary::pairs, table, {second.data(), 5, 12}, alone, 6, nullptr);
  CHECK(std::equal(second.begin(), second.end(), together.begin() + 4 * 12));
  for (std::size_t row = 0; row < 9; ++row) {
    for (const std::size_t column : {4U, 5U, 10U, 11U}) CHECK(together[row * 12 + column] == start[row * 12 + column]);
  }
}
