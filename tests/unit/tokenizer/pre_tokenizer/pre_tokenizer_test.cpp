#include <catch2/catch.hpp>

#include "support/throws.hpp"
#include "support/tokenizer_stages.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::test::error_of;
using mha::test::words;
using Words = std::vector<std::string>;

namespace {

std::string type(const char* name) { return std::string(R"({"type":")") + name + "\"}"; }

std::string punctuation(const char* behavior) {
  return std::string(R"({"type":"Punctuation","behavior":")") + behavior + "\"}";
}

}  // namespace

TEST_CASE("bert pre-tokenizer: cuts at white space and isolates punctuation") {
  CHECK(words(type("BertPreTokenizer"), " Hey,\tyou!? ¿é£x$\u3000") ==
        Words{"Hey", ",", "you", "!", "?", "¿", "é£x", "$"});
  CHECK(words(type("BertPreTokenizer"), "").empty());
  CHECK(words(type("BertPreTokenizer"), " \n ").empty());
}

TEST_CASE("bert pre-tokenizer: words across blocks of sixty-four bytes stay whole") {
  for (std::size_t before = 0; before < 140; ++before) {
    for (const std::size_t length : {1U, 2U, 63U, 64U, 65U, 200U}) {
      for (const std::string gap : {" ", "é", "!"}) {
        const std::string word(length, 'w');
        const std::string text = std::string(before, ' ') + word + gap + word;
        CAPTURE(before, length, gap);
        if (gap == " ") CHECK(words(type("BertPreTokenizer"), text) == Words{word, word});
        if (gap == "é") CHECK(words(type("BertPreTokenizer"), text) == Words{word + gap + word});
        if (gap == "!") CHECK(words(type("BertPreTokenizer"), text) == Words{word, "!", word});
      }
    }
  }
  CHECK(words(type("BertPreTokenizer"), std::string(130, '.')) == Words(130, "."));
}

TEST_CASE("whitespace: word characters run together, all else but spaces does too") {
  CHECK(words(type("Whitespace"), "Hey--you_1 …!é\u200Dx") == Words{"Hey", "--", "you_1", "…!", "é\u200Dx"});
}

TEST_CASE("whitespace split: only white space cuts") {
  CHECK(words(type("WhitespaceSplit"), " a,b\u2028c ") == Words{"a,b", "c"});
}

TEST_CASE("punctuation: every behavior joins as the reference") {
  const std::string text = "a--b,";
  CHECK(words(punctuation("Removed"), text) == Words{"a", "b"});
  CHECK(words(punctuation("Isolated"), text) == Words{"a", "-", "-", "b", ","});
  CHECK(words(punctuation("MergedWithPrevious"), text) == Words{"a-", "-", "b,"});
  CHECK(words(punctuation("MergedWithNext"), text) == Words{"a", "-", "-b", ","});
  CHECK(words(punctuation("Contiguous"), text) == Words{"a", "--", "b", ","});
  CHECK(words(punctuation("MergedWithPrevious"), "-a") == Words{"-", "a"});
  CHECK(words(type("Punctuation"), text) == words(punctuation("Isolated"), text));
  CHECK_THAT(error_of(ErrorKind::model, [&] { words(punctuation("Merged"), text); }), Contains("\"Merged\""));
}

TEST_CASE("digits: one by one or as a run, in every script") {
  CHECK(words(R"({"type":"Digits","individual_digits":true})", "a12½b") == Words{"a", "1", "2", "½", "b"});
  CHECK(words(R"({"type":"Digits","individual_digits":false})", "a12½b٣") == Words{"a", "12½", "b", "٣"});
}

TEST_CASE("unicode scripts: Japanese scripts are one, spaces belong to what is before, a leading one is dropped") {
  CHECK(words(type("UnicodeScripts"), "どこで生れ。Yes") == Words{"どこで生れ", "。", "Yes"});
  CHECK(words(type("UnicodeScripts"), "Apples are りんご 林檎") == Words{"Apples are ", "りんご 林檎"});
  CHECK(words(type("UnicodeScripts"), " a") == Words{"a"});
}

TEST_CASE("fixed length: counts characters") {
  CHECK(words(R"({"type":"FixedLength","length":3})", "Hé👋 wo") == Words{"Hé👋", " wo"});
  CHECK_THAT(error_of(ErrorKind::model, [] { words(R"({"type":"FixedLength","length":0})", "a"); }),
             Contains("integer from 1"));
}

TEST_CASE("char delimiter: one character is dropped") {
  CHECK(words(R"({"type":"CharDelimiterSplit","delimiter":"é"})", "aébéé") == Words{"a", "b"});
  CHECK_THAT(error_of(ErrorKind::model, [] { words(R"({"type":"CharDelimiterSplit","delimiter":"ab"})", "a"); }),
             Contains("one character"));
}

TEST_CASE("pre-tokenizer sequence: each step cuts the words of the one before") {
  const std::string json =
      R"({"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Digits","individual_digits":true},{"type":"Punctuation"}]})";
  CHECK(words(json, "a1 b,2") == Words{"a", "1", "b", ",", "2"});
}

TEST_CASE("pre-tokenizer: an unknown type is named") {
  CHECK_THAT(error_of(ErrorKind::model, [] { words(type("Blankspace"), ""); }),
             Contains("unknown pre_tokenizer \"Blankspace\""));
}
