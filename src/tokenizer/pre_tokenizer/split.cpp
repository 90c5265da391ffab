#include "tokenizer/pattern/pattern.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

/// Cuts at the matches of a pattern. Source: tokenizers 0.22.2, pre_tokenizers/split.rs.
class Split final : public PreTokenizer {
 public:
  explicit Split(SplitOptions options) : options_(std::move(options)) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view s = text.text.text();
    text.next_words.clear();
    for (const Span word : text.words) {
      text.matches.clear();
      options_.pattern->find(s.substr(word.begin, word.end - word.begin), text.matches);
      for (Span& match : text.matches) {
        match.begin += word.begin;
        match.end += word.begin;
      }
      split_word(word, text.matches, options_.behavior, options_.invert, text.next_words);
    }
    std::swap(text.words, text.next_words);
  }
  std::string_view type() const override { return "Split"; }

 private:
  SplitOptions options_;
};

}  // namespace

PreTokenizerPtr make_split(SplitOptions options) { return std::make_shared<Split>(std::move(options)); }

}  // namespace mha::tokenizer
