#include "tokenizer/pattern/pattern.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

/// Cuts at the matches of a pattern. Source: tokenizers 0.22.2, pre_tokenizers/split.rs.
class Split final : public PreTokenizer {
 public:
  Split(std::shared_ptr<const Pattern> pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view s = text.text.text();
    text.next_words.clear();
    for (const Span word : text.words) {
      text.matches.clear();
      pattern_->find(s.substr(word.begin, word.end - word.begin), text.matches);
      for (Span& match : text.matches) {
        match.begin += word.begin;
        match.end += word.begin;
      }
      split_word(word, text.matches, behavior_, invert_, text.next_words);
    }
    std::swap(text.words, text.next_words);
  }
  std::string_view type() const override { return "Split"; }

 private:
  std::shared_ptr<const Pattern> pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

}  // namespace

PreTokenizerPtr make_split(const JsonValue& value) {
  return std::make_shared<Split>(Pattern::from_json(value.at("pattern")),
                                 split_behavior_from_json(value.at("behavior")), value.at("invert").as_bool());
}

}  // namespace mha::tokenizer
