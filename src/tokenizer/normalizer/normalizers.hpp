#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "tokenizer/pattern/pattern.hpp"

// The normalizers, each made from its options. `from_json` reads the options of a `tokenizer.json`; normalizer.cpp
// holds the table of the names there.
namespace mha::tokenizer {

using NormalizerPtr = std::shared_ptr<const Normalizer>;

struct BertNormalizerOptions {
  bool clean_text = true;            ///< removes control characters; every white space becomes U+0020
  bool handle_chinese_chars = true;  ///< puts spaces around CJK ideographs
  bool lowercase = true;
  std::optional<bool> strip_accents;  ///< empty: as `lowercase`

  static BertNormalizerOptions from_json(const JsonValue& value);
};
NormalizerPtr make_bert_normalizer(const BertNormalizerOptions& options);

NormalizerPtr make_nfc();
NormalizerPtr make_nfd();
NormalizerPtr make_nfkc();
NormalizerPtr make_nfkd();
NormalizerPtr make_lowercase();
NormalizerPtr make_strip_accents();
NormalizerPtr make_nmt();
NormalizerPtr make_byte_level_normalizer();

/// Removes white space from the ends of the text.
struct StripOptions {
  bool left = true;
  bool right = true;

  static StripOptions from_json(const JsonValue& value);
};
NormalizerPtr make_strip(const StripOptions& options);

struct ReplaceOptions {
  std::shared_ptr<const Pattern> pattern;
  std::string content;  ///< replaces each match

  static ReplaceOptions from_json(const JsonValue& value);
};
NormalizerPtr make_replace(ReplaceOptions options);

/// Puts `prefix` before a text that is not empty.
NormalizerPtr make_prepend(std::string prefix);

/// The character map as the reference applies it: grapheme cluster by grapheme cluster.
NormalizerPtr make_precompiled(Charsmap map);
/// The character map as SentencePiece itself applies it (longest entry first), then `then`, which may be null.
NormalizerPtr make_sentencepiece_normalizer(Charsmap map, NormalizerPtr then);

NormalizerPtr make_normalizer_sequence(std::vector<NormalizerPtr> steps);

}  // namespace mha::tokenizer
