#include "output/answers.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "output/terminal_text.hpp"
#include "support/attention_example.hpp"
#include "support/throws.hpp"

using mha::AttentionQuestions;

namespace {

mha::AttentionMaps example() { return mha::test::example_maps({"she", "said", "she"}, 2, 2); }

nlohmann::json json_of(const AttentionQuestions& questions) {
  return nlohmann::json::parse(mha::answers_text(mha::answers(example(), questions), mha::Format::json, 80, {}));
}

}  // namespace

TEST_CASE("find ranks every head by the weight of one edge, strongest first") {
  AttentionQuestions questions;
  questions.find = {{"said", "#3"}};
  const auto rows = json_of(questions)["find"];
  REQUIRE(rows.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(rows[i]["query"] == 2);
    CHECK(rows[i]["key"] == 3);
    CHECK(rows[i]["rank"] >= 1);
    if (i > 0) CHECK(rows[i]["weight"] <= rows[i - 1]["weight"]);
    const auto maps = example();
    CHECK(rows[i]["weight"].get<float>() == maps.map(rows[i]["layer"], rows[i]["head"])[2 * maps.tokens() + 3]);
  }
}

TEST_CASE("a name that fits two tokens is refused with their positions") {
  AttentionQuestions questions;
  questions.find = {{"she", "said"}};
  CHECK_THAT(mha::test::error_of(mha::ErrorKind::usage, [&] { mha::answers(example(), questions); }),
             Catch::Contains("#1, #3"));
}

TEST_CASE("top lists the strongest keys of each query, without specials where they are hidden") {
  AttentionQuestions questions;
  questions.top = 2;
  CHECK(json_of(questions)["edges"].size() == 2 * 2 * 5 * 2);
  questions.hide_specials = true;
  const auto rows = json_of(questions)["edges"];
  CHECK(rows.size() == 2 * 2 * 3 * 2);
  for (const auto& row : rows) {
    CHECK(row["query"] >= 1);
    CHECK(row["key"] <= 3);
  }
}

TEST_CASE("answers as CSV and TSV have a header and a row each, quoted as the dialect says") {
  mha::Answer answer{"x",
                     "title",
                     {"word", "share"},
                     {{mha::AnswerCell::of(std::string("a,\t\"b\"")), mha::AnswerCell::of(0.25)}},
                     false};
  CHECK(mha::answer_rows(answer, mha::kCsv, {}) == "word,share\n\"a,\t\"\"b\"\"\",0.25\n");
  CHECK(mha::answer_rows(answer, mha::kTsv, {}) == "word\tshare\na,\\t\"b\"\t0.25\n");
}

TEST_CASE("a table for people names the columns for which there is no room") {
  AttentionQuestions questions;
  questions.stats = true;
  const auto stats = mha::answers(example(), questions);
  std::string wide, narrow;
  mha::append_answer(wide, stats[0], 200, {});
  mha::append_answer(narrow, stats[0], 40, {});
  CHECK(wide.find("not shown") == std::string::npos);
  CHECK(narrow.find("not shown at this width: ") != std::string::npos);
}
