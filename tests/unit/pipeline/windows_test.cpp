#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pipeline/sentence_breaks.hpp"
#include "pipeline/window_plan.hpp"

using namespace mha;

namespace {

using Ranges = std::vector<TokenRange>;

// A token for each [begin, end) of the text, between two special tokens.
Encoding encoding_of(const std::vector<Span>& spans) {
  Encoding encoding;
  const auto add = [&](Span span, int sequence) {
    encoding.input_ids.push_back(0);
    encoding.offsets.push_back(span);
    encoding.sequence_ids.push_back(static_cast<std::int8_t>(sequence));
  };
  add({0, 0}, -1);
  for (const Span span : spans) add(span, 0);
  add({0, 0}, -1);
  return encoding;
}

}  // namespace

TEST_CASE("the tokens of the text stand between prompt and closing specials") {
  const Encoding encoding = encoding_of({{0, 5}, {5, 6}, {6, 10}, {11, 12}});
  CHECK(text_tokens(encoding, 0) == TokenRange{1, 5});
  CHECK(text_tokens(encoding, 6) == TokenRange{3, 5});
  // A piece that takes the blank at the end of the prompt is the text's.
  CHECK(text_tokens(encoding, 7) == TokenRange{3, 5});
  CHECK(text_tokens(encoding_of({}), 0).size() == 0);
  CHECK(text_tokens(encoding_of({{0, 5}}), 5).size() == 0);
}

TEST_CASE("windows have at most so many tokens, share some, and leave none out") {
  CHECK(cut_evenly({1, 11}, 4, 0) == Ranges{{1, 5}, {5, 9}, {9, 11}});
  CHECK(cut_evenly({1, 11}, 4, 1) == Ranges{{1, 5}, {4, 8}, {7, 11}});
  CHECK(cut_evenly({1, 5}, 4, 3) == Ranges{{1, 5}});
  CHECK(cut_evenly({1, 1}, 4, 0) == Ranges{{1, 1}});
  CHECK(cut_evenly({2, 5}, ~std::size_t{0}, 0) == Ranges{{2, 5}});
}

TEST_CASE("windows of sentences end where sentences end") {
  // Three sentences that begin at bytes 0, 10 and 20, with 2, 1 and 3 tokens; one takes the blank before it.
  const Encoding encoding = encoding_of({{0, 4}, {4, 9}, {9, 15}, {20, 22}, {22, 25}, {25, 29}});
  const std::vector<std::size_t> starts{0, 10, 20};
  const auto cut = [&](std::size_t most, std::size_t longest = 100) {
    return cut_by_sentences(encoding, {1, 7}, starts, most, longest);
  };
  CHECK(cut(0) == Ranges{{1, 3}, {3, 4}, {4, 7}});
  CHECK(cut(3) == Ranges{{1, 4}, {4, 7}});
  CHECK(cut(5) == Ranges{{1, 4}, {4, 7}});
  CHECK(cut(6) == Ranges{{1, 7}});
  CHECK(cut(2) == Ranges{{1, 3}, {3, 4}, {4, 6}, {6, 7}});
  CHECK(cut(0, 2) == Ranges{{1, 3}, {3, 4}, {4, 6}, {6, 7}});
  CHECK(cut(6, 3) == Ranges{{1, 4}, {4, 7}});
  // The rest of a sentence that was cut is not joined with the next sentence.
  CHECK(cut_by_sentences(encoding_of({{0, 2}, {3, 5}, {6, 8}, {10, 12}}), {1, 5}, {0, 10}, 2, 100) ==
        Ranges{{1, 3}, {3, 4}, {4, 5}});
  CHECK(cut_by_sentences(encoding, {3, 3}, {}, 0, 100) == Ranges{{3, 3}});
}

TEST_CASE("passes hold whole windows, and repeat what came before them") {
  const Ranges windows{{1, 4}, {4, 6}, {6, 10}, {10, 11}};
  const auto passes = plan_passes(windows, 6, 2);
  REQUIRE(passes.size() == 3);
  CHECK(passes[0].tokens == TokenRange{1, 6});
  CHECK(passes[0].last_window == 2);
  CHECK(passes[1].tokens == TokenRange{4, 10});
  CHECK(passes[1].first_window == 2);
  CHECK(passes[1].last_window == 3);
  CHECK(passes[2].tokens == TokenRange{8, 11});
}

TEST_CASE("passes go on until the last window") {
  const Ranges windows{{1, 4}, {4, 6}, {6, 10}, {10, 11}};
  const auto passes = plan_passes(windows, 5, 4);
  REQUIRE(passes.size() == 3);
  CHECK(passes[1].tokens == TokenRange{5, 10});
  CHECK(passes[2].tokens == TokenRange{6, 11});
  CHECK(passes[2].first_window == 3);
  CHECK(passes[2].last_window == 4);
  CHECK(plan_passes(windows, ~std::size_t{0}, 0).size() == 1);
}

TEST_CASE("sentences begin where Unicode says, in bytes") {
  SentenceBreaks breaks;
  using Starts = std::vector<std::size_t>;
  CHECK(breaks.starts("She leads. He follows!  And they?") == Starts{0, 11, 24});
  CHECK(breaks.starts("Größe zählt. Ja.") == Starts{0, 16});
  CHECK(breaks.starts("No break at 3.5 percent") == Starts{0});
  CHECK(breaks.starts("他走了。她来了。") == Starts{0, 12});
  CHECK(breaks.starts("").empty());
}
