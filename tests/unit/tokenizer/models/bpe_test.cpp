#include "tokenizer/models/bpe.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "core/json_text.hpp"
#include "support/cut_word.hpp"
#include "support/throws.hpp"
#include "support/tokenizer_component.hpp"
#include "tokenizer/byte_level_alphabet.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

using test::cut;
using test::Pieces;

std::vector<std::int32_t> ids(const TokenModel& model, std::string_view text) {
  std::vector<std::int32_t> result;
  for (const auto& piece : cut(model, text)) result.push_back(static_cast<std::int32_t>(piece[0]));
  return result;
}

std::string quoted(std::string_view text) {
  std::string json;
  append_json_string(json, text);
  return json;
}

std::shared_ptr<TokenModel> bpe(const std::string& members) {
  return mha::test::component<TokenModel>(R"({"type":"BPE",)" + members + "}", "test");
}

using Ids = std::vector<std::int32_t>;

TEST_CASE("BPE joins the pair of the lowest rank first, the leftmost of equals") {
  const auto model =
      bpe(R"("vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"aa":5,"abc":6},"merges":["b c","a b","a a","a bc"])");
  CHECK(ids(*model, "abc") == Ids{6});
  CHECK(ids(*model, "ab") == Ids{3});
  CHECK(ids(*model, "aaa") == Ids{5, 0});
  CHECK(ids(*model, "aab") == Ids{0, 3});
  CHECK(cut(*model, "aabc") == Pieces{{5, 0, 2}, {4, 2, 4}});
}

TEST_CASE("merges may be strings, pairs, or start with a version line, the last of equal pairs counts") {
  CHECK(ids(*bpe(R"("vocab":{"#":0,"a":1,"#a":2},"merges":["#version: 0.2","# a"])"), "#a") == Ids{2});
  CHECK(ids(*bpe(R"("vocab":{" ":0,"a":1," a":2},"merges":[[" ","a"]])"), " a") == Ids{2});
  // a b, b c, a b again: the later rank of a b lets b c go first
  CHECK(ids(*bpe(R"("vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4},"merges":["a b","b c","a b"])"), "abc") == Ids{0, 4});
}

TEST_CASE("unknown characters of BPE become one unknown token each, one together, or nothing") {
  const std::string vocab = R"("vocab":{"<unk>":0,"a":1,"b":2},"merges":[])";
  CHECK(cut(*bpe(vocab + R"(,"unk_token":"<unk>")"), "aééb") == Pieces{{1, 0, 1}, {0, 1, 3}, {0, 3, 5}, {2, 5, 6}});
  CHECK(cut(*bpe(vocab + R"(,"unk_token":"<unk>","fuse_unk":true)"), "aééb") ==
        Pieces{{1, 0, 1}, {0, 1, 5}, {2, 5, 6}});
  CHECK(cut(*bpe(vocab), "aéb") == Pieces{{1, 0, 1}, {2, 1, 2}});  // the reference leaves no gap either
  CHECK(cut(*bpe(vocab), "é").empty());
  const auto without = bpe(R"("vocab":{"a":1},"merges":[],"unk_token":"<unk>")");
  CHECK(ids(*without, "a") == Ids{1});
  test::error_of(ErrorKind::input, [&] { ids(*without, "b"); });
}

TEST_CASE("byte fallback needs all bytes, and overtakes a waiting unknown character") {
  const auto model =
      bpe(R"("vocab":{"<unk>":0,"a":1,"<0xC3>":2,"<0xA9>":3},"merges":[],"unk_token":"<unk>","byte_fallback":true)");
  CHECK(ids(*model, "aé") == Ids{1, 2, 3});
  CHECK(ids(*model, "è") == Ids{0});
  CHECK(ids(*model, "èéa") == Ids{2, 3, 0, 1});
}

TEST_CASE("affixes mark where in the word a symbol stands") {
  const auto suffix =
      bpe(R"("vocab":{"a":0,"b":1,"b</w>":2,"ab</w>":3,"a</w>":4},"merges":["a b</w>"],"end_of_word_suffix":"</w>")");
  CHECK(ids(*suffix, "ab") == Ids{3});
  CHECK(ids(*suffix, "a") == Ids{4});
  CHECK(ids(*suffix, "aab") == Ids{0, 3});
  const auto prefix = bpe(
      R"("vocab":{"a":0,"##b":1,"ab":2,"##c":3,"abc":4},"merges":["a ##b","ab ##c"],"continuing_subword_prefix":"##")");
  CHECK(ids(*prefix, "abc") == Ids{4});
}

TEST_CASE("ignore_merges takes a word of the vocabulary whole") {
  const std::string model = R"("vocab":{"a":0,"b":1,"ab":2,"aba":3},"merges":["a b"])";
  CHECK(ids(*bpe(model), "aba") == Ids{2, 0});
  CHECK(ids(*bpe(model + R"(,"ignore_merges":true)"), "aba") == Ids{3});
}

TEST_CASE("a malformed BPE model is a model error that says where") {
  const auto message = [](const std::string& members) {
    return test::error_of(ErrorKind::model, [&] { bpe(members); });
  };
  CHECK_THAT(message(R"("vocab":{"a":0},"merges":["a b"])"), Catch::Contains("merges[0]") && Catch::Contains("\"b\""));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1},"merges":["a b"])"), Catch::Contains("\"ab\""));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1},"merges":["a"])"), Catch::Contains("two tokens"));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1},"merges":["a  b"])"), Catch::Contains("two tokens"));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1},"merges":[["a"]])"), Catch::Contains("pair"));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1,"ab":2},"merges":["a b",["a","b"]])"), Catch::Contains("merges[1]"));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":0},"merges":[])"), Catch::Contains("vocab"));
  CHECK_THAT(message(R"("vocab":{"a":-1},"merges":[])"), Catch::Contains("vocab"));
  CHECK_THAT(message(R"("vocab":{"a":1e9},"merges":[])"), Catch::Contains("vocab"));
  CHECK_THAT(message(R"("vocab":{"a":0})"), Catch::Contains("merges"));
  CHECK_THAT(message(R"("vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"continuing_subword_prefix":"##")"),
             Catch::Contains("prefix"));
  CHECK_THAT(message(R"("vocab":{},"merges":[],"dropout":2)"), Catch::Contains("dropout"));
}

// A vocabulary of random merges over a small alphabet, as parts and for a naive encoder.
struct RandomBpe {
  std::vector<std::string> tokens;
  std::vector<std::pair<std::string, std::string>> merges;

  RandomBpe(unsigned seed, std::string_view alphabet, std::size_t count, std::size_t longest) {
    std::mt19937 random(seed);
    for (const char c : alphabet) tokens.emplace_back(1, c);
    std::set<std::string> known(tokens.begin(), tokens.end());
    std::set<std::pair<std::string, std::string>> pairs;
    while (merges.size() < count) {
      const std::string& left = tokens[random() % tokens.size()];
      const std::string& right = tokens[random() % tokens.size()];
      if (left.size() + right.size() > longest || !pairs.emplace(left, right).second) continue;
      merges.emplace_back(left, right);
      if (known.insert(left + right).second) tokens.push_back(left + right);
    }
    std::shuffle(merges.begin(), merges.end(), random);  // ranks need not grow with length
  }

  std::shared_ptr<TokenModel> model() const {
    BpeOptions parts;
    for (std::size_t i = 0; i < tokens.size(); ++i) parts.vocab.add(tokens[i], static_cast<std::int32_t>(i));
    for (const auto& [left, right] : merges) REQUIRE(parts.add_merge(left, right).empty());
    return make_bpe(std::move(parts));
  }

  Ids naive(std::string_view word) const {
    std::vector<std::string> symbols;
    for (const char c : word) symbols.emplace_back(1, c);
    for (;;) {
      std::size_t best = symbols.size();
      std::size_t best_rank = merges.size();
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = std::find(merges.begin(), merges.end(), std::pair(symbols[i], symbols[i + 1]));
        const auto rank = static_cast<std::size_t>(found - merges.begin());
        if (rank < best_rank) {
          best_rank = rank;
          best = i;
        }
      }
      if (best == symbols.size()) break;
      symbols[best] += symbols[best + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Ids result;
    for (const std::string& symbol : symbols) {
      result.push_back(static_cast<std::int32_t>(std::find(tokens.begin(), tokens.end(), symbol) - tokens.begin()));
    }
    return result;
  }
};

std::string random_word(std::mt19937& random, std::string_view alphabet, std::size_t size) {
  std::string word;
  while (word.size() < size) word.append(1 + random() % 3, alphabet[random() % alphabet.size()]);
  return word.substr(0, size);
}

TEST_CASE("words of every length are merged as by looking at all pairs each time") {
  std::mt19937 random(1);
  for (unsigned seed = 0; seed < 6; ++seed) {
    const RandomBpe small(seed, "abc", 40, 6 + seed);
    const auto model = small.model();
    for (const std::size_t size : {1U, 2U, 7U, 24U, 25U, 31U, 32U, 33U, 34U, 60U, 150U, 400U}) {
      const std::string word = random_word(random, "abc", size);
      CHECK(ids(*model, word) == small.naive(word));
    }
  }
}

TEST_CASE("a very long word is cut into blocks that join as if it were merged at once") {
  std::mt19937 random(2);
  // In one alphabet, a block of the long word and the same stretch of a word that has its border elsewhere must agree.
  for (unsigned seed = 10; seed < 14; ++seed) {
    const RandomBpe small(seed, "ab", 60, 40);
    const auto model = small.model();
    const std::string word = random_word(random, "ab", 4096 + 700 + seed);
    CHECK(ids(*model, word) == small.naive(word));
    const std::string same(9000, 'a');
    const Pieces whole = cut(*model, same);
    CHECK(whole.back()[2] == same.size());
  }
}

TEST_CASE("the word cache tells words apart by all of their bytes, however many there are") {
  std::string vocab;
  for (int digit = 0; digit < 10; ++digit) vocab += "\"" + std::to_string(digit) + "\":" + std::to_string(digit) + ",";
  for (int power = 0; power < 5; ++power) {
    vocab +=
        (power > 0 ? ",\"" : "\"") + std::string(std::size_t{1} << power, 'a') + "\":" + std::to_string(10 + power);
  }
  const auto model = bpe("\"vocab\":{" + vocab + R"(},"merges":["a a","aa aa","aaaa aaaa","aaaaaaaa aaaaaaaa"])");
  std::string text;
  std::vector<Span> words;
  Ids wanted;
  for (int number = 1000; number < 10000; ++number) {
    const auto begin = static_cast<std::uint32_t>(text.size());
    const std::string digits = std::to_string(number);
    text += std::string(16, 'a') + digits;
    words.push_back({begin, static_cast<std::uint32_t>(text.size())});
    wanted.push_back(14);
    for (const char digit : digits) wanted.push_back(digit - '0');
  }
  const auto scratch = model->make_scratch();
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<Piece> pieces;
    model->tokenize(text, words, *scratch, pieces);
    Ids found;
    for (const Piece& piece : pieces) found.push_back(piece.id);
    CHECK(found == wanted);
  }
}

TEST_CASE("words as bytes give what ByteLevel's characters give") {
  std::mt19937 random(3);
  const auto& alphabet = ByteLevelAlphabet::get();
  for (const bool complete : {true, false}) {
    std::string vocab;
    std::string merges;
    std::int32_t id = 0;
    const auto add = [&](const std::string& token) {
      vocab += (vocab.empty() ? "" : ",") + quoted(token) + ":" + std::to_string(id++);
    };
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!complete && byte % 5 == 1) continue;
      add(std::string(alphabet.utf8(static_cast<unsigned char>(byte))));
    }
    const auto written = [&](std::string_view bytes) {
      std::string text;
      alphabet.append(bytes, text);
      return text;
    };
    for (const auto& [left, right] : {std::pair("a", "b"), {"\xC3", "\xA9"}, {"ab", "\xC3\xA9"}, {" ", "ab"}}) {
      add(written(std::string(left) + right));
      merges += (merges.empty() ? "" : ",") + ("[" + quoted(written(left)) + "," + quoted(written(right)) + "]");
    }
    for (const std::string options :
         {R"("unk_token":"a")", R"("unk_token":"a","fuse_unk":true)", R"("unk_token":null)"}) {
      const std::string members = "\"vocab\":{" + vocab + "},\"merges\":[" + merges + "]," + options;
      const auto characters = bpe(members);
      const auto bytes = bpe(members);
      bytes->read_bytes();
      for (int round = 0; round < 300; ++round) {
        std::string word;
        const std::size_t size = 1 + random() % 40;
        while (word.size() < size) {
          constexpr std::string_view kParts[] = {"a", "b", "ab", "é", " ", "x", "中", "G", "\x01"};
          word += kParts[random() % std::size(kParts)];
        }
        const std::string text = written(word);
        Pieces expected = cut(*characters, text);
        for (auto& piece : expected) {  // from written bytes to bytes of the word
          const auto byte_at = [&](std::uint32_t place) {
            std::uint32_t byte = 0;
            for (std::uint32_t end = 0;; ++byte) {
              end += static_cast<std::uint32_t>(alphabet.utf8(static_cast<unsigned char>(word[byte])).size());
              if (place < end) return byte;
            }
          };
          piece[1] = byte_at(piece[1]);
          piece[2] = byte_at(piece[2] - 1) + 1;
        }
        CHECK(cut(*bytes, word) == expected);
      }
    }
  }
}

}  // namespace
}  // namespace mha::tokenizer
