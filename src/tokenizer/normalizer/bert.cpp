#include "core/utf8.hpp"
#include "tokenizer/normalizer/lowercase.hpp"
#include "tokenizer/normalizer/normal_form.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {
namespace {

using unicode::kBertNonspacing;
using unicode::kBertRemoved;
using unicode::kBertSpace;
using unicode::kChinese;

// tokenizers 0.22.2, normalizers/bert.rs: clean, pad Chinese characters, NFD without marks, lower case; in this order.
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options)
      : clean_(options.clean_text),
        chinese_(options.handle_chinese_chars),
        lowercase_(options.lowercase),
        strip_accents_(options.strip_accents.value_or(options.lowercase)) {}

  void normalize(NormalizedText& text) const override {
    if (ascii(text)) return;
    if (clean_ || chinese_) clean(text);
    if (strip_accents_) to_normal_form(text, unicode::Form::nfd, kBertNonspacing);
    if (lowercase_) to_lowercase(text);
  }

  std::string_view type() const override { return "BertNormalizer"; }

 private:
  // Most texts are ASCII without control characters: one pass in place does it all. Plain arithmetic on bytes, so that
  // the compiler makes vector code of it.
  bool ascii(NormalizedText& text) const {
    const std::string_view old = text.text();
    if (clean_) {
      unsigned char hard = 0;
      for (const char c : old) {
        const auto byte = static_cast<unsigned char>(c);
        const bool blank = byte == '\t' || byte == '\n' || byte == '\r';
        hard |= static_cast<unsigned char>((byte < 0x20 && !blank) || byte >= 0x7F);
      }
      if (hard != 0) return false;
    } else if (!utf8::is_ascii(old)) {
      return false;
    }
    char* const bytes = text.writable();
    const std::size_t size = old.size();
    if (clean_) {
      for (std::size_t i = 0; i < size; ++i) bytes[i] = bytes[i] < ' ' ? ' ' : bytes[i];
    }
    if (lowercase_) {
      for (std::size_t i = 0; i < size; ++i) {
        const bool upper = bytes[i] >= 'A' && bytes[i] <= 'Z';
        bytes[i] = static_cast<char>(bytes[i] + (upper ? 32 : 0));
      }
    }
    return true;
  }

  void clean(NormalizedText& text) const {
    const std::string_view old = text.text();
    const std::uint32_t removed = clean_ ? kBertRemoved : 0U;
    const std::uint32_t space = clean_ ? kBertSpace : 0U;
    const std::uint32_t chinese = chinese_ ? kChinese : 0U;
    const std::uint32_t any = removed | space | chinese;
    std::uint32_t kept = 0;  // everything before is written, or never will be
    bool rewriting = false;
    for (std::size_t at = 0; at < old.size();) {
      const auto begin = static_cast<std::uint32_t>(at);
      const char32_t c = utf8::next(old, at);
      const std::uint32_t flags = unicode::flags(c);
      if ((flags & any) == 0) continue;
      const auto end = static_cast<std::uint32_t>(at);
      if (!rewriting) text.begin_rewrite();
      rewriting = true;
      text.copy(kept, begin);
      kept = end;
      if ((flags & removed) != 0) continue;
      text.put(U' ', begin);
      if ((flags & chinese) == 0) continue;
      text.copy(begin, end);
      text.put(U' ', begin);
    }
    if (!rewriting) return;
    text.copy(kept, static_cast<std::uint32_t>(old.size()));
    text.end_rewrite();
  }

  bool clean_;
  bool chinese_;
  bool lowercase_;
  bool strip_accents_;
};

}  // namespace

NormalizerPtr make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_shared<BertNormalizer>(options);
}

}  // namespace mha::tokenizer
