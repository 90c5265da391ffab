#include "pipeline/window_text.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/utf8.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "unicode/grapheme.hpp"
#include "unicode/properties.hpp"

using namespace mha;

namespace {

// Tokenizers of different kinds: normalizers that drop, insert and rewrite, tokens of bytes, tokens of blanks.
std::vector<std::pair<std::string, std::shared_ptr<const Tokenizer>>> tokenizers() {
  std::vector<std::pair<std::string, std::shared_ptr<const Tokenizer>>> all;
  const std::string letters = [] {
    std::string vocab = R"("[UNK]":0,"[CLS]":1,"[SEP]":2)";
    int id = 3;
    for (char c = 'a'; c <= 'z'; ++c) {
      vocab += ",\"" + std::string(1, c) + "\":" + std::to_string(id++);
      vocab += ",\"##" + std::string(1, c) + "\":" + std::to_string(id++);
    }
    return vocab;
  }();
  const std::string special =
      R"("post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},"added_tokens":[)"
      R"({"id":1,"content":"[CLS]","special":true},{"id":2,"content":"[SEP]","special":true}],)";
  all.emplace_back(
      "wordpiece",
      Tokenizer::from_json(
          "{" + special +
              R"("normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true},)"
              R"("pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]",)"
              R"("continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
              letters + "}}}",
          "test"));
  const std::string bytes = [] {
    std::string vocab = R"("[UNK]":0,"[CLS]":1,"[SEP]":2)";
    int id = 3;
    for (unsigned byte = 0, next = 0x100; byte < 256; ++byte) {
      const bool printable =
          (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
      std::string text;
      utf8::append(text, printable ? byte : next++);
      if (text == "\"" || text == "\\") text.insert(0, 1, '\\');
      vocab += ",\"" + text + "\":" + std::to_string(id++);
    }
    return vocab;
  }();
  all.emplace_back("bytes",
                   Tokenizer::from_json("{" + special +
                                            R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,)"
                                            R"("trim_offsets":true},"model":{"type":"BPE","merges":[],"vocab":{)" +
                                            bytes + "}}}",
                                        "test"));
  all.emplace_back(
      "unigram",
      Tokenizer::from_json(R"({"normalizer":{"type":"Sequence","normalizers":[{"type":"Nmt"},{"type":"NFKC"},)"
                           R"({"type":"StripAccents"}]},"pre_tokenizer":{"type":"Metaspace","replacement":"▁",)"
                           R"("prepend_scheme":"always"},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",-9],)"
                           R"(["▁",-1],["a",-2],["b",-2],["▁a",-2],["e",-2],["▁▁",-1]]}})",
                           "test"));
  all.emplace_back("words", Tokenizer::from_words({"she", "is", "[UNK]"}, true, "[UNK]", "test"));
  return all;
}

// Letters with marks, clusters of many code points, blanks of all kinds, controls that normalizers drop.
std::string nasty_text(std::mt19937& random) {
  const std::vector<std::string> pieces = {"a",
                                           "be",
                                           "She",
                                           " ",
                                           "  ",
                                           "\n",
                                           "\t",
                                           "\r\n",
                                           "\u00A0",
                                           "\u3000",
                                           "\u0301",
                                           "e\u0301",
                                           "\u00AD",
                                           "\u200B",
                                           "\u200D",
                                           "\uFEFF",
                                           "\u0007",
                                           "\u0085",
                                           "。",
                                           "!",
                                           "👩‍👩‍👧‍👦",
                                           "🇩🇪",
                                           "각",
                                           "\u1100\u1161\u11A8",
                                           "क्षि",
                                           "é",
                                           "ﬁ",
                                           "½",
                                           "中文",
                                           ". ",
                                           "\u0300\u0301\u0302",
                                           "x\u20E3",
                                           "\u2028",
                                           "\uFFFD",
                                           "İ",
                                           "#",
                                           "ab\u00ADab",
                                           "\u0E33"};
  std::string text;
  const std::size_t count = random() % 24;
  for (std::size_t i = 0; i < count; ++i) text += pieces[random() % pieces.size()];
  return text;
}

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (!unicode::is(utf8::next(text, at), unicode::kWhiteSpace)) return false;
  }
  return true;
}

// What must hold for the windows of any text; empty if it does.
std::string fault_of(const std::vector<TextWindow>& windows, std::string_view text, const GraphemeBorders& borders) {
  if (windows.empty()) return "no window";
  std::vector<bool> covered(text.size(), false);
  std::size_t last_begin = 0;
  for (const TextWindow& window : windows) {
    const auto [begin, end] = window.text;
    if (begin > end || end > text.size()) return "a range outside the text";
    if (begin < last_begin) return "windows out of order";
    last_begin = begin;
    if (!borders.is_border(begin) || !borders.is_border(end)) return "a cluster is parted";
    if (is_blank(text.substr(begin, end - begin)) && windows.size() > 1) return "a blank window";
    for (std::size_t i = begin; i < end; ++i) covered[i] = true;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (!unicode::is(utf8::next(text, at), unicode::kWhiteSpace) && !covered[begin]) {
      return "byte " + std::to_string(begin) + " belongs to no window";
    }
  }
  return {};
}

}  // namespace

TEST_CASE("windows tile nasty texts, whatever the tokenizer drops or splits") {
  std::mt19937 random(17);
  TokenizerScratch scratch;
  for (const auto& [name, tokenizer] : tokenizers()) {
    for (int round = 0; round < 4000; ++round) {
      const std::string prompt = round % 3 == 0 ? "query: " : "";
      const std::string text = nasty_text(random);
      Encoding encoding;
      tokenizer->encode(prompt + text, std::nullopt, {}, scratch, encoding);
      const GraphemeBorders borders(text);
      const TokenRange tokens = text_tokens(encoding, prompt.size());
      const std::vector<bool> marks = cut_marks(encoding, tokens, prompt.size(), borders);
      const std::size_t most = 1 + random() % 8;
      const std::size_t overlap = random() % most;
      const std::vector<TokenRange> ranges = cut_evenly(tokens, most, overlap, marks);
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        REQUIRE(ranges[i].size() <= most);
        if (i > 0) REQUIRE(ranges[i].first <= ranges[i - 1].last);
        if (i > 0) REQUIRE(ranges[i].last > ranges[i - 1].last);
      }
      const std::string fault = fault_of(window_texts(ranges, encoding, text, prompt.size(), borders), text, borders);
      INFO(name << ": \"" << text << "\" most " << most << " overlap " << overlap << ": " << fault);
      REQUIRE(fault.empty());
    }
  }
}

TEST_CASE("a mark stays with its letter, and a cluster of many tokens is cut between no code points") {
  TokenizerScratch scratch;
  const auto tokenizer = tokenizers()[1].second;  // a token per byte
  const std::string text = "ae\u0301 b";
  Encoding encoding;
  tokenizer->encode(text, std::nullopt, {}, scratch, encoding);
  const GraphemeBorders borders(text);
  const TokenRange tokens = text_tokens(encoding, 0);
  const auto windows =
      window_texts(cut_evenly(tokens, 3, 0, cut_marks(encoding, tokens, 0, borders)), encoding, text, 0, borders);
  REQUIRE(windows.size() == 3);
  CHECK(windows[0].text == TextRange{0, 1});
  CHECK(windows[1].text == TextRange{1, 4});
  CHECK(windows[2].text == TextRange{5, 6});
}
