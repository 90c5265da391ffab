#include "search/passages.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "mha/model/model.hpp"
#include "unicode/grapheme.hpp"

using namespace mha;

namespace {

const Tokenizer& tokenizer() {
  static const auto opened = load_tokenizer(find_model("contextual-512", {}), {});
  return *opened.tokenizer;
}

std::vector<Passage> cut(std::string_view text, const PassageRules& rules) {
  TokenizerScratch scratch;
  return cut_into_passages(text, rules, tokenizer(), scratch);
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  return text;
}

}  // namespace

TEST_CASE("passages are whole lines with their numbers, a heading stays with its paragraph", "[search]") {
  const auto passages = cut("# Title\n\nfirst line\r\nsecond line\n\n\nthe third paragraph has a few words more\n",
                            {.tokens = 10, .by_line = false});
  REQUIRE(passages.size() == 2);
  CHECK(passages[0].text == "# Title\nfirst line\nsecond line");
  CHECK(passages[0].line == 1);
  CHECK(passages[0].last_line == 4);
  CHECK(passages[1].text == "the third paragraph has a few words more");
  CHECK(passages[1].line == 7);
}

TEST_CASE("by line every line that is not blank is a passage", "[search]") {
  const auto passages = cut("a\n\nb c\n  \nd", {.tokens = 100, .by_line = true});
  REQUIRE(passages.size() == 3);
  CHECK(passages[1].text == "b c");
  CHECK(passages[1].line == 3);
  CHECK(passages[2].line == 5);
  CHECK(cut("", {}).empty());
  CHECK(cut(" \n\r\n\t", {}).empty());
}

TEST_CASE("long lines are cut so that nothing is lost, blank or divided", "[search]") {
  std::string cluster = "e";
  for (int i = 0; i < 40; ++i) cluster += "\xCC\x81";
  const std::string texts[] = {
      std::string(500, 'x'),
      [] {
        std::string words;
        for (int i = 0; i < 200; ++i) words += "word" + std::to_string(i) + (i % 7 == 0 ? "    " : " ");
        return words;
      }(),
      cluster + cluster + " " + cluster,
      "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 family \xE4\xB8\xAD\xE6\x96\x87 text",
      std::string(50, ' ') + "word" + std::string(50, ' ')};
  for (const std::string& text : texts) {
    for (const std::size_t tokens : {1U, 2U, 5U, 31U}) {
      std::string joined;
      for (const Passage& passage : cut(text, {.tokens = tokens, .by_line = false})) {
        CHECK(without_blanks(passage.text) != "");
        joined += passage.text;
      }
      CHECK(without_blanks(joined) == without_blanks(text));
      std::size_t at = 0;
      std::size_t border = 0;
      bool whole = true;
      for (const Passage& passage : cut(text, {.tokens = tokens, .by_line = false})) {
        at += passage.text.size();
        while (border < at) border = unicode::grapheme_end(text, border);
        whole = whole && border == at;
      }
      CHECK(whole);
    }
  }
}
