// The normalizers that are one pass over the characters.
#include <functional>

#include "core/utf8.hpp"
#include "tokenizer/normalizer/normalizers.hpp"
#include "tokenizer/pattern/pattern.hpp"

namespace mha::tokenizer {
namespace {

// Copies what `replacement` leaves alone. It returns the character to put, kKeep or kDrop.
constexpr char32_t kKeep = 0x110000;
constexpr char32_t kDrop = 0x110001;

template <typename Replacement>
void map_characters(NormalizedText& text, const Replacement& replacement) {
  const std::string_view old = text.text();
  std::uint32_t kept = 0;
  bool rewriting = false;
  for (std::size_t at = 0; at < old.size();) {
    const auto begin = static_cast<std::uint32_t>(at);
    const char32_t now = replacement(utf8::next(old, at));
    if (now == kKeep) continue;
    if (!rewriting) text.begin_rewrite();
    rewriting = true;
    text.copy(kept, begin);
    kept = static_cast<std::uint32_t>(at);
    if (now != kDrop) text.put(now, begin);
  }
  if (!rewriting) return;
  text.copy(kept, static_cast<std::uint32_t>(old.size()));
  text.end_rewrite();
}

class StripAccents final : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    map_characters(text, [](char32_t c) { return unicode::is(c, unicode::kMark) ? kDrop : kKeep; });
  }
  std::string_view type() const override { return "StripAccents"; }
};

// tokenizers 0.22.2, normalizers/unicode.rs, do_nmt.
class Nmt final : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override {
    map_characters(text, [](char32_t c) {
      if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) {
        return kDrop;
      }
      if (c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) ||
          c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD) {
        return U' ';
      }
      return kKeep;
    });
  }
  std::string_view type() const override { return "Nmt"; }
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const StripOptions& options) : options_(options) {}

  void normalize(NormalizedText& text) const override {
    const std::string_view old = text.text();
    std::size_t begin = 0;
    std::size_t end = old.size();
    while (options_.left && begin < end) {
      std::size_t next = begin;
      if (!unicode::is(utf8::next(old, next), unicode::kWhiteSpace)) break;
      begin = next;
    }
    while (options_.right && begin < end) {
      std::size_t last = end - 1;
      while (last > begin && utf8::is_continuation(old[last])) --last;
      std::size_t next = last;
      if (!unicode::is(utf8::next(old, next), unicode::kWhiteSpace)) break;
      end = last;
    }
    if (end - begin == old.size()) return;
    text.begin_rewrite();
    text.copy(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
    text.end_rewrite();
  }
  std::string_view type() const override { return "Strip"; }

 private:
  StripOptions options_;
};

// All of a match's replacement stands for what the match's last byte stands for.
class Replace final : public Normalizer {
 public:
  explicit Replace(ReplaceOptions options) : options_(std::move(options)) {}

  void normalize(NormalizedText& text) const override {
    std::vector<Span>& matches = text.match_buffer();
    matches.clear();
    options_.pattern->find(text.text(), matches);
    if (matches.empty()) return;
    std::uint32_t kept = 0;
    text.begin_rewrite();
    for (const Span& match : matches) {
      text.copy(kept, match.begin);
      if (!options_.content.empty()) text.put(options_.content, text.before(match.end));
      kept = match.end;
    }
    text.copy(kept, static_cast<std::uint32_t>(text.text().size()));
    text.end_rewrite();
  }
  std::string_view type() const override { return "Replace"; }

 private:
  ReplaceOptions options_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}

  void normalize(NormalizedText& text) const override {
    if (text.empty() || prefix_.empty()) return;
    text.begin_rewrite();
    text.put(prefix_, 0);
    text.copy(0, static_cast<std::uint32_t>(text.text().size()));
    text.end_rewrite();
  }
  std::string_view type() const override { return "Prepend"; }

 private:
  std::string prefix_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  void normalize(NormalizedText& text) const override {
    for (const auto& step : steps_) step->normalize(text);
  }
  std::string_view type() const override { return "Sequence"; }

 private:
  std::vector<NormalizerPtr> steps_;
};

}  // namespace

NormalizerPtr make_strip_accents() { return std::make_shared<StripAccents>(); }
NormalizerPtr make_nmt() { return std::make_shared<Nmt>(); }
NormalizerPtr make_strip(const StripOptions& options) { return std::make_shared<Strip>(options); }
NormalizerPtr make_replace(ReplaceOptions options) { return std::make_shared<Replace>(std::move(options)); }
NormalizerPtr make_prepend(std::string prefix) { return std::make_shared<Prepend>(std::move(prefix)); }
NormalizerPtr make_normalizer_sequence(std::vector<NormalizerPtr> steps) {
  return std::make_shared<NormalizerSequence>(std::move(steps));
}

}  // namespace mha::tokenizer
