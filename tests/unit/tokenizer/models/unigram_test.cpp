#include "tokenizer/models/unigram.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "support/cut_word.hpp"
#include "support/throws.hpp"
#include "support/tokenizer_component.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

using test::cut;
using test::Pieces;

std::shared_ptr<TokenModel> unigram(const std::string& members) {
  return mha::test::component<TokenModel>(R"({"type":"Unigram",)" + members + "}", "test");
}

TEST_CASE("Unigram takes the sequence of the greatest sum") {
  const auto model = unigram(
      R"("unk_id":0,"vocab":[["<unk>",0],["a",0],["b",0],["c",0],["d",0],["cd",1],["ab",2],["abc",5],["abcd",10]])");
  CHECK(cut(*model, "abcdacdxx") == Pieces{{8, 0, 4}, {1, 4, 5}, {5, 5, 7}, {0, 7, 9}});
}

TEST_CASE("of equal sums the path that was found first stays") {
  const auto model = unigram(R"("unk_id":0,"vocab":[["<unk>",-9],["a",-1],["b",-1],["c",-1],["ab",-1],["bc",-1]])");
  CHECK(cut(*model, "abc") == Pieces{{1, 0, 1}, {5, 1, 3}});
}

TEST_CASE("scores count to the last bit as the reference's JSON parser reads them") {
  // 0.1 + 0.2 against 0.3: the nearest doubles of these decimals do not add up, so the sum is greater.
  const auto model = unigram(R"("unk_id":0,"vocab":[["<unk>",-9],["a",0.1],["b",0.2],["ab",0.3]])");
  CHECK(cut(*model, "ab") == Pieces{{1, 0, 1}, {2, 1, 2}});
}

TEST_CASE("neighbouring unknown characters are one token, and so is the unknown token written out") {
  const auto model = unigram(R"("unk_id":1,"vocab":[["a",-1],["<unk>",-2]])");
  CHECK(cut(*model, "éèa") == Pieces{{1, 0, 4}, {0, 4, 5}});
  CHECK(cut(*model, "é<unk>") == Pieces{{1, 0, 7}});
  // Where two unknown characters beat the piece "xy", the joined text is found as that piece all the same.
  const auto positive = unigram(R"("unk_id":1,"vocab":[["a",40],["<unk>",35],["xy",30]])");
  CHECK(cut(*positive, "xy") == Pieces{{2, 0, 2}});
}

TEST_CASE("byte fallback of Unigram gives all bytes of the unknown run the whole span") {
  const std::string bytes = R"(["<0xC3>",-1],["<0xA9>",-1])";
  const auto model = unigram(R"("unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0],["a",-1],)" + bytes + "]");
  CHECK(cut(*model, "aéé") == Pieces{{1, 0, 1}, {2, 1, 5}, {3, 1, 5}, {2, 1, 5}, {3, 1, 5}});
  CHECK(cut(*model, "éè") == Pieces{{0, 0, 4}});
}

TEST_CASE("without an unknown token an unknown character is refused") {
  const auto model = unigram(R"("unk_id":null,"vocab":[["a",-1]])");
  CHECK(cut(*model, "aa").size() == 2);
  test::error_of(ErrorKind::input, [&] { cut(*model, "ab"); });
}

TEST_CASE("a malformed Unigram model is a model error that says where") {
  const auto message = [](const std::string& members) {
    return test::error_of(ErrorKind::model, [&] { unigram(members); });
  };
  CHECK_THAT(message(R"("unk_id":2,"vocab":[["<unk>",0],["a",0]])"), Catch::Contains("unk_id"));
  CHECK_THAT(message(R"("unk_id":-1,"vocab":[["<unk>",0]])"), Catch::Contains("unk_id"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":[])"), Catch::Contains("vocab"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":[["a",0],["b",0],["a",-1]])"), Catch::Contains("element 2"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":[["a"]])"), Catch::Contains("vocab[0]"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":[["a","b"]])"), Catch::Contains("vocab[0][1]"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":[["a",1e999]])"), Catch::Contains("vocab[0][1]"));
  CHECK_THAT(message(R"("unk_id":0,"vocab":{"a":0})"), Catch::Contains("vocab"));
}

std::shared_ptr<TokenModel> model_of(const std::vector<std::pair<std::string, double>>& pieces) {
  UnigramOptions parts;
  std::vector<double> scores;
  for (const auto& [text, score] : pieces) {
    parts.vocab.add(text, static_cast<std::int32_t>(scores.size()));
    scores.push_back(score);
  }
  parts.add_pieces(scores);
  return make_unigram(std::move(parts));
}

// Every end's best path over the whole word at once.
std::vector<std::uint32_t> naive_ends(const std::vector<std::pair<std::string, double>>& pieces,
                                      std::string_view word) {
  std::vector<double> best(word.size() + 1, 0);
  std::vector<std::ptrdiff_t> start(word.size() + 1, -1);
  for (std::size_t begin = 0; begin < word.size(); ++begin) {
    for (std::size_t end = begin + 1; end <= word.size(); ++end) {
      for (const auto& [text, score] : pieces) {
        if (word.substr(begin, end - begin) != text) continue;
        if (start[end] < 0 || best[begin] + score > best[end]) {
          best[end] = best[begin] + score;
          start[end] = static_cast<std::ptrdiff_t>(begin);
        }
      }
      if (end - begin > 8) break;
    }
  }
  std::vector<std::uint32_t> ends;
  for (auto end = static_cast<std::ptrdiff_t>(word.size()); end > 0; end = start[static_cast<std::size_t>(end)]) {
    ends.insert(ends.begin(), static_cast<std::uint32_t>(end));
  }
  return ends;
}

TEST_CASE("long texts, written out stretch by stretch, have the same best path") {
  std::mt19937 random(5);
  std::vector<std::pair<std::string, double>> pieces = {{"a", -1}, {"b", -1.5}, {"c", -2}};
  while (pieces.size() < 30) {
    std::string text;
    for (std::size_t i = 0; i < 2 + random() % 4; ++i) text += static_cast<char>('a' + random() % 3);
    const auto same = [&](const auto& piece) { return piece.first == text; };
    if (std::none_of(pieces.begin(), pieces.end(), same))
      pieces.emplace_back(text, -static_cast<double>(random() % 8) / 2);
  }
  const auto model = model_of(pieces);
  for (const std::size_t size : {1U, 5U, 24U, 25U, 300U, 4095U, 4097U, 13000U}) {
    std::string word;
    while (word.size() < size) word += static_cast<char>('a' + random() % 3);
    std::vector<std::uint32_t> ends;
    for (const auto& piece : cut(*model, word)) ends.push_back(piece[2]);
    CHECK(ends == naive_ends(pieces, word));
  }
}

TEST_CASE("long texts whose paths meet late, or not before the end, have the same best path") {
  const std::vector<std::pair<std::string, double>> late[] = {
      {{"a", -3}, {"b", -3}, {"ab", -2}, {"ba", -2}, {"aba", -2.5}, {"babab", -4}},
      {{"a", -10}, {"aa", -1}},  // odd and even ends have nothing in common
      {{"a", -1}, {"aa", -2}, {"aaa", -3}, {"aaaaaaa", -6.5}},
  };
  for (const auto& pieces : late) {
    const auto model = model_of(pieces);
    for (const std::size_t size : {4096U, 8192U, 8193U, 12289U, 40001U}) {
      std::string word;
      while (word.size() < size) word += pieces.size() > 4 && word.size() % 2 == 1 ? 'b' : 'a';
      std::vector<std::uint32_t> ends;
      for (const auto& piece : cut(*model, word)) ends.push_back(piece[2]);
      CHECK(ends == naive_ends(pieces, word));
    }
  }
}

TEST_CASE("a trie finds exactly its keys") {
  std::mt19937 random(6);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    std::string key;
    for (std::size_t n = 1 + random() % 12; n > 0; --n) key += static_cast<char>(random() % (i % 2 == 0 ? 4 : 256));
    keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::shuffle(keys.begin(), keys.end(), random);
  const ByteTrie trie(std::vector<std::string_view>(keys.begin(), keys.end()));
  for (std::size_t i = 0; i < keys.size(); ++i) REQUIRE(trie.find(keys[i]) == static_cast<std::int32_t>(i));
  for (const std::string& key : keys) {
    const std::string longer = key + 'z';
    const bool known = std::find(keys.begin(), keys.end(), longer) != keys.end();
    REQUIRE((trie.find(longer) >= 0) == known);
  }
  CHECK(ByteTrie(std::vector<std::string_view>()).find("a") == ByteTrie::kNone);
}

}  // namespace
}  // namespace mha::tokenizer
