#include "tokenizer/normalizer/lowercase.hpp"

#include <cstring>

#include "core/utf8.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {
namespace {

class Lowercase final : public Normalizer {
 public:
  void normalize(NormalizedText& text) const override { to_lowercase(text); }
  std::string_view type() const override { return "Lowercase"; }
};

// From `at` on, with changes of length.
void rewrite_lowercase(NormalizedText& text, std::uint32_t at) {
  const std::string_view old = text.text();
  std::uint32_t kept = 0;
  text.begin_rewrite();
  for (std::size_t i = at; i < old.size();) {
    const auto begin = static_cast<std::uint32_t>(i);
    const auto lower = unicode::lowercase(utf8::next(old, i));
    if (lower.empty()) continue;
    text.copy(kept, begin);
    for (const char32_t c : lower) text.put(c, begin);
    kept = static_cast<std::uint32_t>(i);
  }
  text.copy(kept, static_cast<std::uint32_t>(old.size()));
  text.end_rewrite();
}

}  // namespace

void to_lowercase(NormalizedText& text) {
  char* bytes = text.writable();
  const std::string_view old = text.text();
  std::string lower_bytes;
  for (std::size_t at = 0; at < old.size();) {
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte < 0x80) {
      bytes[at++] = static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
      continue;
    }
    const std::size_t begin = at;
    const auto lower = unicode::lowercase(utf8::next(old, at));
    if (lower.empty()) continue;
    lower_bytes.clear();
    for (const char32_t c : lower) utf8::append(lower_bytes, c);
    if (lower_bytes.size() != at - begin) return rewrite_lowercase(text, static_cast<std::uint32_t>(begin));
    std::memcpy(bytes + begin, lower_bytes.data(), lower_bytes.size());
  }
}

NormalizerPtr make_lowercase() { return std::make_shared<Lowercase>(); }

}  // namespace mha::tokenizer
