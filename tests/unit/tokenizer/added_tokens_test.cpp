#include "tokenizer/added_tokens.hpp"

#include <catch2/catch.hpp>

#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/normalizer.hpp"

using mha::tokenizer::AddedToken;
using mha::tokenizer::AddedTokens;
using mha::tokenizer::LiteralSearch;
using mha::tokenizer::Vocab;
using Pass = mha::tokenizer::AddedTokens::Pass;

namespace {

AddedToken token(std::string content) {
  AddedToken made;
  made.content = std::move(content);
  return made;
}

// The parts of a text, added ones in brackets with their id.
std::string parts(const AddedTokens& tokens, const std::string& text, Pass pass = Pass::raw, bool plain = false) {
  std::vector<AddedTokens::Segment> found;
  tokens.split(text, pass, plain, found);
  std::string shown;
  for (const auto& part : found) {
    const std::string piece = text.substr(part.begin, part.end - part.begin);
    shown += part.id < 0 ? piece : "[" + std::to_string(part.id) + ":" + piece + "]";
    shown += '|';
  }
  return shown;
}

Vocab vocab() {
  Vocab made;
  made.add("a", 0);
  made.add("<s>", 1);
  return made;
}

}  // namespace

TEST_CASE("literal search: the leftmost match, there the longest") {
  LiteralSearch search;
  search.add("ab", 1);
  search.add("abcd", 2);
  search.add("bcdef", 3);
  search.add("ab", 4);
  search.build();
  const auto match = search.find("xabcdef", 0);
  REQUIRE(match);
  CHECK(match->begin == 1);
  CHECK(match->end == 5);
  CHECK(match->id == 2);
  CHECK(search.find("xab", 0)->id == 1);
  CHECK_FALSE(search.find("xab", 2));
  CHECK_FALSE(search.find("", 0));
}

TEST_CASE("literal search: of one byte, of several, at the end of a text, none") {
  LiteralSearch search;
  CHECK_FALSE(search.find("abc", 0));
  search.add("#", 1);
  search.add("é", 2);
  search.add("<x>", 3);
  search.add("<", 4);
  search.add("--", 5);
  search.build();
  const auto id = [&](std::string_view text) { return search.find(text, 0) ? search.find(text, 0)->id : -1; };
  CHECK(id("a#b") == 1);
  CHECK(id("a#") == 1);
  CHECK(id("aé") == 2);
  CHECK(id("aè") == -1);
  CHECK(id("a\xC3") == -1);
  CHECK(id("a<x") == 4);
  CHECK(id("a<x>") == 3);
  CHECK(id("a-b-") == -1);
  CHECK(id("a-b--") == 5);
}

TEST_CASE("added tokens: those of the vocabulary keep their id, others count on from its size") {
  const AddedTokens tokens({token("<new>"), token("<s>"), token("<more>"), token("<new>"), token("")}, vocab(),
                           nullptr);
  CHECK(tokens.id_of("<new>") == 2);
  CHECK(tokens.id_of("<s>") == 1);
  CHECK(tokens.id_of("<more>") == 3);
  CHECK(tokens.beyond_vocab() == 2);
  CHECK(tokens.id_limit() == 4);
  CHECK(parts(tokens, "x<new><more>y") == "x|[2:<new>]|[3:<more>]|y|");
}

TEST_CASE("added tokens: single words need no word character beside them") {
  AddedToken word = token("cat");
  word.single_word = true;
  const AddedTokens tokens({word}, vocab(), nullptr);
  CHECK(parts(tokens, "cat scat cats cat") == "[2:cat]| scat cats |[2:cat]|");
  CHECK(parts(tokens, "écat-cat") == "écat-|[2:cat]|");
}

TEST_CASE("added tokens: strips take the white space, but not what a token before took") {
  AddedToken left = token("<l>");
  left.lstrip = true;
  AddedToken right = token("<r>");
  right.rstrip = true;
  const AddedTokens tokens({left, right}, vocab(), nullptr);
  CHECK(parts(tokens, "a \u3000<l> b") == "a|[2: \u3000<l>]| b|");
  CHECK(parts(tokens, "a <r> \n b") == "a |[3:<r> \n ]|b|");
  CHECK(parts(tokens, "<r>  <l>") == "[3:<r>  ]|[2:<l>]|");
}

TEST_CASE("added tokens: normalized ones are looked for in their own normalized form") {
  const auto document = mha::tokenizer::JsonDocument::parse(R"({"type":"Lowercase"})", "test");
  const auto lower = mha::tokenizer::Normalizer::from_json(document.root());
  AddedToken upper = token("<UNK>");
  upper.normalized = true;
  const AddedTokens tokens({upper, token("<MASK>")}, vocab(), lower.get());
  CHECK(parts(tokens, "<UNK><MASK>") == "<UNK>|[3:<MASK>]|");
  CHECK(parts(tokens, "<unk><mask>", Pass::normalized) == "[2:<unk>]|<mask>|");
}

TEST_CASE("added tokens: special ones can be ordinary text") {
  AddedToken special = token("<s>");
  special.special = true;
  const AddedTokens tokens({special, token("<t>")}, vocab(), nullptr);
  CHECK(parts(tokens, "<s><t>", Pass::raw, true) == "<s>|[2:<t>]|");
  CHECK(parts(tokens, "<s><t>") == "[1:<s>]|[2:<t>]|");
  CHECK(tokens.is_special("<s>"));
  CHECK_FALSE(tokens.is_special("<t>"));
}
