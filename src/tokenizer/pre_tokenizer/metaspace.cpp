#include "core/utf8.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/metaspace_options.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {

MetaspaceOptions MetaspaceOptions::from_json(const JsonValue& value) {
  MetaspaceOptions options;
  const JsonValue replacement = value.at("replacement");
  options.replacement = replacement.as_string();
  if (utf8::length(options.replacement) != 1) replacement.fail("one character");
  const auto scheme = value.find("prepend_scheme");
  if (scheme) {
    const std::string name = scheme->as_string();
    if (name == "always") {
      options.prepend = Prepend::always;
    } else if (name == "first") {
      options.prepend = Prepend::first;
    } else if (name == "never") {
      options.prepend = Prepend::never;
    } else {
      scheme->fail("always, first or never");
    }
  }
  if (!value.bool_or("add_prefix_space", true)) {
    if (options.prepend != Prepend::never && scheme) scheme->fail("never, as add_prefix_space is false");
    options.prepend = Prepend::never;
  }
  options.split = value.bool_or("split", true);
  return options;
}

namespace {

/// Spaces become "▁", a word that does not start with one gets one, and every "▁" starts a word.
class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceOptions options) : options_(std::move(options)) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    const std::string_view s = text.text.text();
    const std::string_view mark = options_.replacement;
    text.next_words.clear();
    text.text.begin_rewrite();
    for (const Span word : text.words) {
      std::uint32_t begin = text.text.rewritten_size();
      const auto end_word = [&] {
        const std::uint32_t end = text.text.rewritten_size();
        if (end > begin) text.next_words.push_back({begin, end});
        begin = end;
      };
      const std::string_view w = s.substr(word.begin, word.end - word.begin);
      if (!w.starts_with(' ') && !w.starts_with(mark) && prepends(text.text, word)) text.text.put(mark, word.begin);
      std::uint32_t copied = word.begin;
      for (std::uint32_t i = word.begin; i < word.end; ++i) {
        const bool is_space = s[i] == ' ';
        if (!is_space && (s[i] != mark[0] || !s.substr(i, word.end - i).starts_with(mark))) continue;
        text.text.copy(copied, i);
        if (options_.split) end_word();
        copied = i;
        if (!is_space) continue;
        text.text.put(mark, i);
        copied = i + 1;
      }
      text.text.copy(copied, word.end);
      end_word();
    }
    text.text.end_rewrite();
    std::swap(text.words, text.next_words);
  }
  std::string_view type() const override { return "Metaspace"; }

 private:
  bool prepends(const NormalizedText& text, Span word) const {
    if (options_.prepend == MetaspaceOptions::Prepend::first) return text.origin(word.begin, word.end).begin == 0;
    return options_.prepend == MetaspaceOptions::Prepend::always;
  }

  MetaspaceOptions options_;
};

}  // namespace

PreTokenizerPtr make_metaspace(MetaspaceOptions options) { return std::make_shared<Metaspace>(std::move(options)); }

}  // namespace mha::tokenizer
