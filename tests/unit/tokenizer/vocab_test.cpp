#include "tokenizer/vocab.hpp"

#include <catch2/catch.hpp>
#include <string>

using mha::tokenizer::Vocab;

TEST_CASE("vocab: tokens of all lengths are found, and nothing else") {
  Vocab vocab;
  std::string token;
  for (std::int32_t id = 0; id < 40; ++id) {
    REQUIRE(vocab.add(token, id));
    token += static_cast<char>('a' + id % 26);
  }
  token.clear();
  for (std::int32_t id = 0; id < 40; ++id) {
    CHECK(vocab.find(token) == id);
    CHECK(vocab.token(id) == token);
    CHECK(vocab.find(token + "!") == -1);
    token += static_cast<char>('a' + id % 26);
  }
  CHECK(vocab.size() == 40);
}

TEST_CASE("vocab: zero bytes count") {
  using namespace std::string_view_literals;
  Vocab vocab;
  CHECK(vocab.add("a"sv, 0));
  CHECK(vocab.add("a\0"sv, 1));
  CHECK(vocab.add("a\0\0\0\0\0\0\0"sv, 2));
  CHECK(vocab.add("a\0\0\0\0\0\0\0\0"sv, 3));
  CHECK(vocab.find("a\0"sv) == 1);
  CHECK(vocab.find("a\0\0"sv) == -1);
  CHECK(vocab.find("a\0\0\0\0\0\0\0\0"sv) == 3);
}

TEST_CASE("vocab: a token or an id that is taken changes nothing") {
  Vocab vocab;
  CHECK(vocab.add("one", 1));
  CHECK_FALSE(vocab.add("one", 2));
  CHECK_FALSE(vocab.add("two", 1));
  CHECK(vocab.size() == 1);
  CHECK_FALSE(vocab.has(2));
}

TEST_CASE("vocab: ids may have holes, and the size counts tokens") {
  Vocab vocab;
  CHECK(vocab.add("far", 1000));
  CHECK(vocab.add("near", 3));
  CHECK(vocab.size() == 2);
  CHECK(vocab.id_limit() == 1001);
  CHECK_FALSE(vocab.has(4));
  CHECK_FALSE(vocab.has(-1));
  CHECK(vocab.token(4).empty());
}

TEST_CASE("vocab: a later line of a file takes the token over, its earlier id keeps the text") {
  Vocab vocab;
  vocab.add_or_replace("[PAD]", 0);
  vocab.add_or_replace("a", 1);
  vocab.add_or_replace("[PAD]", 2);
  CHECK(vocab.find("[PAD]") == 2);
  CHECK(vocab.token(0) == "[PAD]");
  CHECK(vocab.size() == 2);
}

TEST_CASE("vocab: many tokens survive every growth") {
  Vocab vocab;
  for (std::int32_t id = 0; id < 20000; ++id) REQUIRE(vocab.add("token-" + std::to_string(id * 7), id));
  for (std::int32_t id = 0; id < 20000; ++id) REQUIRE(vocab.find("token-" + std::to_string(id * 7)) == id);
  CHECK(vocab.find("token-1") == -1);
}
