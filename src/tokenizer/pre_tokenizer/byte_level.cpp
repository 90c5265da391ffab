#include "tokenizer/byte_level_alphabet.hpp"
#include "tokenizer/fast/known_patterns.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

/// Writes the bytes [begin, end) of the old text as characters; each stands for what the whole old character stands
/// for.
void write_bytes(NormalizedText& text, std::uint32_t begin, std::uint32_t end) {
  const std::string_view s = text.text();
  for (std::uint32_t i = begin; i < end; ++i) {
    text.put(ByteLevelAlphabet::get().utf8(static_cast<unsigned char>(s[i])), i);
  }
}

/// GPT-2's pre-tokenizer: words by its pattern, then every byte as one character.
/// Source: tokenizers 0.22.2, pre_tokenizers/byte_level.rs.
class ByteLevel final : public PreTokenizer {
 public:
  explicit ByteLevel(const ByteLevelOptions& options) : options_(options) {}

  void pre_tokenize(PreTokenizedText& text) const override {
    if (options_.add_prefix_space) add_prefix_space(text);
    if (options_.use_regex) {
      text.next_words.clear();
      for (const Span word : text.words) split_like_gpt2(text.text.text(), word, text.next_words);
      std::swap(text.words, text.next_words);
    }
    if (!leave_bytes_) write_words(text);
  }
  std::string_view type() const override { return "ByteLevel"; }
  bool leave_bytes() override { return leave_bytes_ = true; }

 private:
  static void add_prefix_space(PreTokenizedText& text) {
    const std::string_view s = text.text.text();
    bool any = false;
    for (const Span word : text.words) any |= s[word.begin] != ' ';
    if (!any) return;
    text.text.begin_rewrite();
    for (Span& word : text.words) {
      const std::uint32_t begin = text.text.rewritten_size();
      if (s[word.begin] != ' ') text.text.put(" ", word.begin);
      text.text.copy(word.begin, word.end);
      word = {begin, text.text.rewritten_size()};
    }
    text.text.end_rewrite();
  }

  static void write_words(PreTokenizedText& text) {
    text.text.begin_rewrite();
    for (Span& word : text.words) {
      const std::uint32_t begin = text.text.rewritten_size();
      write_bytes(text.text, word.begin, word.end);
      word = {begin, text.text.rewritten_size()};
    }
    text.text.end_rewrite();
  }

  ByteLevelOptions options_;
  bool leave_bytes_ = false;
};

/// The same change of alphabet as a normalizer. Source: tokenizers 0.22.2, normalizers/byte_level.rs.
class ByteLevelNormalizer final : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    text.begin_rewrite();
    write_bytes(text, 0, static_cast<std::uint32_t>(text.text().size()));
    text.end_rewrite();
  }
  std::string_view type() const override { return "ByteLevel"; }
};

}  // namespace

PreTokenizerPtr make_byte_level(const ByteLevelOptions& options) { return std::make_shared<ByteLevel>(options); }

NormalizerPtr make_byte_level_normalizer() { return std::make_shared<ByteLevelNormalizer>(); }

}  // namespace mha::tokenizer
