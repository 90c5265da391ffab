#include <array>

#include "core/utf8.hpp"
#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "unicode/grapheme.hpp"

namespace mha::tokenizer {
namespace {

/// SentencePiece's character map, as the reference applies it: one grapheme cluster at a time.
/// Source: tokenizers 0.22.2, normalizers/precompiled.rs.
class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {
    for (unsigned char c = 0; c < 128; ++c) {
      const char character = static_cast<char>(c);
      // A carriage return may be one cluster with what follows, and other controls are few: only the rest is quick.
      plain_[c] = c >= 0x20 && c < 0x7F && !map_.find({&character, 1});
    }
  }

  void normalize(NormalizedText& text) const override;
  std::string_view type() const override { return "Precompiled"; }

 private:
  /// Moves over ASCII characters that are a cluster of their own and that the map does not know.
  std::size_t skip_plain(std::string_view s, std::size_t position) const;

  Charsmap map_;
  std::array<bool, 128> plain_{};
};

/// The new text, written from the first replacement on. Counts as the reference does, also where it is odd: what is
/// removed right after an insertion turns that into a replacement, and what is removed at the very start is not
/// counted, so that all that follows stands for what comes earlier in the old text.
class Rewriter {
 public:
  explicit Rewriter(NormalizedText& text) : text_(text), changes_(text.change_buffer()) { changes_.clear(); }

  void keep(std::size_t begin, std::size_t end) {
    if (!rewriting_) return;
    if (!shifted_) {
      flush(begin);
      text_.copy(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
      begin_ = end;
      return;
    }
    while (begin < end) changes_.push_back({utf8::next(text_.text(), begin), 0});
  }

  void replace(std::size_t begin, std::size_t end, std::string_view replacement) {
    if (!rewriting_) {
      rewriting_ = true;
      text_.begin_rewrite();
      text_.copy(0, static_cast<std::uint32_t>(begin));
      begin_ = begin;
    }
    const auto old_count = static_cast<std::int32_t>(utf8::length(text_.text().substr(begin, end - begin)));
    std::int32_t new_count = 0;
    for (std::size_t position = 0; position < replacement.size(); ++new_count) {
      changes_.push_back({utf8::next(replacement, position), new_count < old_count ? 0 : 1});
    }
    if (new_count >= old_count) return;
    if (!changes_.empty()) {
      changes_.back().change += new_count - old_count;
    } else if (text_.rewritten_size() == 0) {
      shifted_ = true;
    } else {
      begin_ = end;
    }
  }

  void finish() {
    if (!rewriting_) return;
    flush(text_.text().size());
    text_.end_rewrite();
  }

 private:
  void flush(std::size_t end) {
    text_.replace(static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(end), changes_);
    changes_.clear();
    begin_ = end;
  }

  NormalizedText& text_;
  std::vector<unicode::Mapped>& changes_;  ///< for the old text from begin_ on
  std::size_t begin_ = 0;
  bool rewriting_ = false;
  bool shifted_ = false;
};

std::size_t Precompiled::skip_plain(std::string_view s, std::size_t position) const {
  const auto plain = [&](std::size_t i) {
    const auto byte = static_cast<unsigned char>(s[i]);
    return byte < 0x80 && plain_[byte];
  };
  const std::size_t begin = position;
  while (position < s.size() && plain(position)) ++position;
  // The last one may belong to a cluster with what is not ASCII behind it.
  if (position > begin && position < s.size() && static_cast<unsigned char>(s[position]) >= 0x80) --position;
  return position;
}

void Precompiled::normalize(NormalizedText& text) const {
  if (map_.empty()) return;
  const std::string_view s = text.text();
  Rewriter out(text);
  for (std::size_t position = 0; position < s.size();) {
    const std::size_t plain_end = skip_plain(s, position);
    if (plain_end > position) out.keep(position, plain_end);
    if (plain_end == s.size()) break;
    position = plain_end;
    const std::size_t end = unicode::grapheme_end(s, position);
    if (end - position < 6) {
      if (const auto replacement = map_.find(s.substr(position, end - position))) {
        out.replace(position, end, *replacement);
        position = end;
        continue;
      }
    }
    while (position < end) {
      std::size_t next = position;
      utf8::next(s, next);
      if (const auto replacement = map_.find(s.substr(position, next - position))) {
        out.replace(position, next, *replacement);
      } else {
        out.keep(position, next);
      }
      position = next;
    }
  }
  out.finish();
}

/// The map as SentencePiece applies it, then the other steps.
/// Source: google/sentencepiece, src/normalizer.cc, Normalizer::NormalizePrefix.
class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(Charsmap map, NormalizerPtr then) : map_(std::move(map)), then_(std::move(then)) {}

  void normalize(NormalizedText& text) const override {
    if (!map_.empty()) apply(text);
    if (then_) then_->normalize(text);
  }
  std::string_view type() const override { return "SentencePiece"; }

 private:
  void apply(NormalizedText& text) const {
    const std::string_view s = text.text();
    std::size_t kept = 0;  // everything before is written
    bool rewriting = false;
    for (std::size_t position = 0; position < s.size();) {
      const auto entry = map_.find_longest(s.substr(position));
      if (!entry) {
        utf8::next(s, position);
        continue;
      }
      if (!rewriting) text.begin_rewrite();
      rewriting = true;
      text.copy(static_cast<std::uint32_t>(kept), static_cast<std::uint32_t>(position));
      const auto begin = static_cast<std::uint32_t>(position);
      position += entry->size;
      text.put(entry->replacement, text.origin(begin, static_cast<std::uint32_t>(position)));
      kept = position;
    }
    if (!rewriting) return;
    text.copy(static_cast<std::uint32_t>(kept), static_cast<std::uint32_t>(s.size()));
    text.end_rewrite();
  }

  Charsmap map_;
  NormalizerPtr then_;
};

}  // namespace

NormalizerPtr make_precompiled(Charsmap map) { return std::make_shared<Precompiled>(std::move(map)); }

NormalizerPtr make_sentencepiece_normalizer(Charsmap map, NormalizerPtr then) {
  return std::make_shared<SentencePieceNormalizer>(std::move(map), std::move(then));
}

}  // namespace mha::tokenizer
