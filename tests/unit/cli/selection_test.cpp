#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/choice.hpp"
#include "cli/options.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::parse_ablate;
using mha::parse_ranges;
using mha::resolve;
using mha::test::error_of;
using Indices = std::vector<std::size_t>;

namespace {

Indices chosen(const char* text, std::size_t count) { return resolve(parse_ranges(text, "--layer"), count, "--layer"); }

}  // namespace

TEST_CASE("numbers, ranges and lists choose indices, ascending and once, also from the end") {
  CHECK(chosen("0", 6) == Indices{0});
  CHECK(chosen("-1", 6) == Indices{5});
  CHECK(chosen("3-5,0,4,-6", 6) == Indices{0, 3, 4, 5});
  CHECK(chosen("-3--1", 6) == Indices{3, 4, 5});
  CHECK(chosen("1--1", 3) == Indices{1, 2});
  CHECK(resolve({}, 3, "--layer") == Indices{0, 1, 2});
}

TEST_CASE("what is no list of numbers is refused as it stands, and an index out of range with the range") {
  for (const char* text : {"", ",", "a", "1-", "-", "1,,2", "1-2-3", "1.5", "0x1", " 1", "99999999999999999999"}) {
    INFO(text);
    CHECK_THAT(error_of(ErrorKind::usage, [&] { parse_ranges(text, "--layer"); }), Contains("--layer"));
  }
  CHECK_THAT(error_of(ErrorKind::usage, [] { chosen("6", 6); }), Contains("0 to 5"));
  CHECK_THAT(error_of(ErrorKind::usage, [] { chosen("-7", 6); }), Contains("-7"));
  CHECK_THAT(error_of(ErrorKind::usage, [] { chosen("2-1", 6); }), Contains("ascends"));
}

TEST_CASE("ablated heads are marked by layer and head, with a star for all") {
  using Marks = std::vector<std::uint8_t>;
  CHECK(mha::resolve_ablated({}, 2, 3, "--ablate").empty());
  CHECK(mha::resolve_ablated(parse_ablate("0.1", "--ablate"), 2, 3, "--ablate") == Marks{0, 1, 0, 0, 0, 0});
  CHECK(mha::resolve_ablated(parse_ablate("1.*,0.-1", "--ablate"), 2, 3, "--ablate") == Marks{0, 0, 1, 1, 1, 1});
  CHECK(mha::resolve_ablated(parse_ablate("*.0-1", "--ablate"), 2, 3, "--ablate") == Marks{1, 1, 0, 1, 1, 0});
  for (const char* text : {"", "1", "1.", ".1", "1.1.1", "a.b", "1.1,"}) {
    INFO(text);
    CHECK_THAT(error_of(ErrorKind::usage, [&] { parse_ablate(text, "--ablate"); }), Contains("--ablate"));
  }
  CHECK_THAT(
      error_of(ErrorKind::usage, [] { mha::resolve_ablated(parse_ablate("2.0", "--ablate"), 2, 3, "--ablate"); }),
      Contains("--ablate: layer"));
}

TEST_CASE("parts are chosen by name, and a wrong one is named with the right ones") {
  const mha::Parts parts = mha::cli::parse_parts("text,hidden_states");
  CHECK(parts.text);
  CHECK(parts.hidden_states);
  CHECK_FALSE(parts.tokens);
  CHECK(mha::cli::parse_parts("all").attentions);
  const std::string error = error_of(ErrorKind::usage, [] { mha::cli::parse_parts("tokens,atentions"); });
  CHECK_THAT(error, Contains("atentions") && Contains("hidden_states") && Contains("did you mean \"attentions\""));
}

TEST_CASE("counts are whole numbers within their bounds") {
  CHECK(mha::cli::parse_count("--dims", "12", 1) == 12);
  for (const char* text : {"", "0", "-1", "1.5", "two", "1 ", "99999999999999999999"}) {
    INFO(text);
    CHECK_THAT(error_of(ErrorKind::usage, [&] { mha::cli::parse_count("--dims", text, 1); }), Contains("--dims"));
  }
}
