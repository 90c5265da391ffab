#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

namespace mha::test {

/// What a normalizer, given as JSON, makes of a text: the text, and for each of its bytes the bytes of the original.
struct Normalized {
  std::string text;
  std::vector<Span> origins;
};

inline Normalized normalized(const std::string& json, const std::string& text) {
  const auto document = tokenizer::JsonDocument::parse(json, "test");
  const auto normalizer = tokenizer::Normalizer::from_json(document.root());
  tokenizer::NormalizedText result;
  result.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  normalizer->normalize(result);
  Normalized out{std::string(result.text()), {}};
  for (std::uint32_t i = 0; i < out.text.size(); ++i) out.origins.push_back(result.origin(i, i + 1));
  return out;
}

/// The words that a pre-tokenizer, given as JSON, finds.
inline std::vector<std::string> words(const std::string& json, const std::string& text) {
  const auto document = tokenizer::JsonDocument::parse(json, "test");
  const auto pre_tokenizer = tokenizer::PreTokenizer::from_json(document.root());
  tokenizer::PreTokenizedText result;
  result.text.assign(text, 0, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) result.words = {{0, static_cast<std::uint32_t>(text.size())}};
  pre_tokenizer->pre_tokenize(result);
  std::vector<std::string> found;
  for (const Span& word : result.words) {
    found.emplace_back(result.text.text().substr(word.begin, word.end - word.begin));
  }
  return found;
}

}  // namespace mha::test

namespace mha {
inline std::ostream& operator<<(std::ostream& out, const Span& span) {
  return out << '[' << span.begin << ',' << span.end << ')';
}
}  // namespace mha
