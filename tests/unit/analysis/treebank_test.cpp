#include "analysis/treebank.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <sstream>

#include "mha/core/error.hpp"
#include "support/attention_example.hpp"

namespace {

mha::TreebankReader reader_of(const std::string& text) {
  auto stream = std::make_shared<std::istringstream>(text);
  return {[stream](std::string& line) { return static_cast<bool>(std::getline(*stream, line)); }, "trees.conllu"};
}

std::string word_line(int id, const std::string& form, int head, const std::string& relation,
                      const std::string& misc = "_") {
  return std::to_string(id) + "\t" + form + "\t_\t_\t_\t_\t" + std::to_string(head) + "\t" + relation + "\t_\t" + misc +
         "\n";
}

const std::string kSentence = "# text = big dogs don't bark\n" + word_line(1, "big", 2, "amod") +
                              word_line(2, "dogs", 5, "nsubj") + "3-4\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n" +
                              word_line(3, "do", 5, "aux") + word_line(4, "n't", 5, "advmod") +
                              "4.1\tgo\t_\t_\t_\t_\t_\t_\t_\t_\n" + word_line(5, "bark", 0, "root") + "\n";

}  // namespace

TEST_CASE("words of a sentence are found in its text, also inside a multiword token") {
  mha::TreebankReader reader = reader_of(kSentence);
  mha::TreebankSentence sentence;
  REQUIRE(reader.next(sentence));
  REQUIRE(sentence.words.size() == 5);
  for (const auto& word : sentence.words) {
    CHECK(word.located);
    CHECK(sentence.text.substr(word.begin, word.end - word.begin) == word.form);
  }
  CHECK_FALSE(reader.next(sentence));
}

TEST_CASE("without a text line the text is joined from the forms") {
  mha::TreebankReader reader = reader_of(word_line(1, "Yes", 0, "root", "SpaceAfter=No") +
                                         word_line(2, ",", 1, "punct") + word_line(3, "sir", 1, "vocative"));
  mha::TreebankSentence sentence;
  REQUIRE(reader.next(sentence));
  CHECK(sentence.text == "Yes, sir");
}

TEST_CASE("malformed treebank lines are named") {
  mha::TreebankSentence sentence;
  const auto fails = [&](const std::string& text, const std::string& what) {
    mha::TreebankReader reader = reader_of(text);
    CHECK_THROWS_WITH(reader.next(sentence), Catch::Contains("trees.conllu: line 1") && Catch::Contains(what));
  };
  fails("1\tonly\n", "10 columns");
  fails(word_line(2, "x", 0, "root"), "expected id 1");
  fails(word_line(1, "x", 7, "root"), "heads up to 1");
  fails("1\tx\t_\t_\t_\t_\t-1\troot\t_\t_\n", "head number");
  fails(word_line(1, "\xff", 0, "root"), "UTF-8");
}

TEST_CASE("a head is right where it points from a word to the other end of an arc") {
  mha::TreebankReader reader = reader_of(kSentence);
  mha::TreebankSentence sentence;
  REQUIRE(reader.next(sentence));
  // "don" begins in "do"; "'" and "t" begin in "n't".
  mha::AttentionMaps maps = mha::test::example_maps({"big", "dogs", "don", "##'", "##t", "bark"}, 1, 1);
  const std::size_t n = maps.tokens();
  std::fill(maps.weights.begin(), maps.weights.end(), 0.0F);
  const auto point = [&](std::size_t q, std::size_t k) { maps.map(0, 0)[q * n + k] = 1.0F; };
  point(0, 0);
  point(1, 2);  // big → dogs, its head
  point(2, 1);  // dogs → big: its amod, not its head
  point(3, 6);  // do → bark, its head
  point(4, 6);  // ' → bark
  point(5, 1);  // t → big; n't is half bark, half big: the first wins
  point(6, 2);  // bark → dogs, its nsubj
  point(7, 7);
  mha::TreebankScore score;
  score.add(sentence, maps);

  const auto attachment = score.attachment();
  CHECK(attachment.support == 4);
  CHECK(attachment.accuracy == Approx(0.5));
  CHECK(score.unscored_words() == 0);
  for (const auto& relation : score.relations()) {
    CHECK(relation.support == 1);
    CHECK(relation.baseline == Approx(1.0));
    const bool down = relation.direction == "head-to-dependent";
    if (relation.relation == "amod") {
      CHECK(relation.accuracy == Approx(1.0));
      CHECK(relation.baseline_offset == (down ? -1 : 1));
    }
    if (relation.relation == "nsubj") CHECK(relation.accuracy == Approx(down ? 1.0 : 0.0));
  }
  CHECK(score.relations().size() == 8);
}
