#include "tokenizer/fast/word_cache.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <random>
#include <string>

namespace mha::tokenizer {
namespace {

struct Part {
  std::int32_t id;
  std::uint32_t begin;
  std::uint32_t end;
};
using Parts = std::vector<Part>;

/// Pieces of `size` bytes, numbered by the word, so that no two words are cut alike.
Parts pieces_of(std::string_view word, std::size_t size) {
  Parts parts;
  const auto hash = static_cast<std::int32_t>(std::hash<std::string_view>()(word) & 0xFFFFFF);
  for (std::size_t begin = 0; begin < word.size(); begin += size) {
    parts.push_back({hash + static_cast<std::int32_t>(begin), static_cast<std::uint32_t>(begin),
                     static_cast<std::uint32_t>(std::min(word.size(), begin + size))});
  }
  return parts;
}

/// A cache, what it is asked, and how often it could not answer.
struct Asked {
  WordCache cache;
  std::size_t cuts = 0;
  std::function<Parts(std::string_view)> how = [](std::string_view word) { return pieces_of(word, 8); };
  bool may_keep = true;

  /// All words in one text, one behind the other; whether the pieces are right is checked.
  void ask(const std::vector<std::string>& words) {
    std::string text;
    std::vector<Span> spans;
    for (const std::string& word : words) {
      const auto begin = static_cast<std::uint32_t>(text.size());
      text += word;
      spans.push_back({begin, static_cast<std::uint32_t>(text.size())});
    }
    const std::vector<char> exact(text.begin(), text.end());  // nothing may be read behind it
    std::vector<Piece> found;
    Parts parts;
    const auto cut = [&](std::string_view word) -> std::pair<const Parts&, bool> {
      ++cuts;
      parts = how(word);
      return {parts, may_keep};
    };
    cache.tokenize({exact.data(), exact.size()}, spans, cut, found);
    std::size_t at = 0;
    bool right = true;
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      for (const Part& part : how(words[i])) {
        right = right && at < found.size() && found[at].id == part.id &&
                found[at].begin == spans[i].begin + part.begin && found[at].end == spans[i].begin + part.end &&
                found[at].word == i;
        ++at;
      }
    }
    CHECK(right);
    CHECK(at == found.size());
  }
};

TEST_CASE("word cache: a word is cut once, whatever its size and pieces, up to the largest entry") {
  for (std::size_t size = 1; size <= 30; ++size) {
    for (const std::size_t piece : {1, 2, 3, 4, 5, 8, 30}) {
      INFO(size << " bytes in pieces of " << piece);
      Asked asked;
      asked.how = [piece](std::string_view word) { return pieces_of(word, piece); };
      const std::string word(size, 'w');
      asked.ask({word});
      asked.ask({word, word, word});
      asked.ask({"other ", word});
      const bool kept = size <= WordCache::kMaxBytes && (size + piece - 1) / piece <= WordCache::kMaxPieces;
      const bool other_kept = (6 + piece - 1) / piece <= WordCache::kMaxPieces;
      CHECK(other_kept);
      CHECK(asked.cuts == (kept ? 2 : 6));
    }
  }
}

TEST_CASE("word cache: words are told apart by all their bytes and their size") {
  Asked asked;
  std::vector<std::string> words;
  for (const std::size_t size : {1, 7, 8, 9, 14, 15, 16, 17, 23, 24, 25}) {
    const std::string word(size, 'a');
    words.push_back(word);
    words.push_back(word + '\0');
    words.push_back(std::string(size, '\0'));
    for (std::size_t i = 0; i < size; ++i) {
      words.push_back(word);
      words.back()[i] = 'b';
      words.push_back(word);
      words.back()[i] = '\xFF';
    }
  }
  for (int round = 0; round < 3; ++round) asked.ask(words);
}

TEST_CASE("word cache: bytes behind a word do not matter") {
  Asked asked;
  for (const std::string behind : {"x", "yyyyyyyyyyyyyyyyyyyyyyyy", "\xFF\xFF", "z"}) asked.ask({"word", behind});
  CHECK(asked.cuts == 5);
  asked.ask({"word"});
  CHECK(asked.cuts == 5);
}

TEST_CASE("word cache: many more words than it holds push one another out and stay right") {
  Asked asked;
  asked.how = [](std::string_view word) { return pieces_of(word, 4); };
  std::vector<std::string> words;
  for (int i = 0; i < 300'000; ++i) {
    std::string number = std::to_string(i);
    words.push_back(i % 5 == 0 ? "a rather long " + number : number);
  }
  asked.ask(words);
  CHECK(asked.cuts == words.size());
  asked.ask(words);
  CHECK(asked.cuts > words.size() + words.size() / 2);
}

TEST_CASE("word cache: words that are asked for again outlive those that come once") {
  Asked asked;
  std::vector<std::string> often;
  for (int i = 0; i < 200; ++i) often.push_back("often" + std::to_string(i));
  asked.ask(often);
  for (int round = 0; round < 100; ++round) {
    asked.ask(often);
    std::vector<std::string> once;
    for (int i = 0; i < 5000; ++i) once.push_back(std::to_string(round * 5000 + i));
    asked.ask(once);
  }
  const std::size_t before = asked.cuts;
  asked.ask(often);
  CHECK(asked.cuts - before < often.size() / 10);
}

TEST_CASE("word cache: what may not be kept, or does not cover its word, is given as it was cut") {
  Asked asked;
  asked.may_keep = false;
  asked.ask({"word", "word"});
  CHECK(asked.cuts == 2);
  asked.may_keep = true;
  asked.how = [](std::string_view word) {
    if (word.size() > 4) return Parts{{7, 0, 2}, {8, 2, 3}, {9, 3, 4}};
    return word.size() > 3 ? Parts{{7, 0, 2}} : Parts{};
  };
  for (int round = 0; round < 2; ++round) asked.ask({"ab?", "abcd", "abcd", "abcd?", "ab"});
  CHECK(asked.cuts == 2 + 4);
}

TEST_CASE("word cache: random words of all sizes, again and again") {
  Asked asked;
  asked.how = [](std::string_view word) { return pieces_of(word, 1 + word.size() % 5); };
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> words(random() % 100);
    for (std::string& word : words) {
      word.resize(1 + random() % (round % 2 == 0 ? 4 : 28));
      for (char& c : word) c = "ab\0"[random() % 3];
    }
    asked.ask(words);
  }
}

}  // namespace
}  // namespace mha::tokenizer
