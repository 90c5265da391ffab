#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/normalizer/normalized_text.hpp"

namespace mha::tokenizer {

class JsonValue;

/// A normalized text and the words found in it so far: byte ranges of `text.text()`, none empty, left to right, each
/// where the reference has one split. What no word covers is dropped.
struct PreTokenizedText {
  NormalizedText text;
  std::vector<Span> words;
  std::vector<Span> next_words;  ///< where a pre-tokenizer builds the successor of `words` before it swaps them
  std::vector<Span> matches;     ///< scratch for matches of patterns
};

/// Second stage: cuts each word of a text into smaller words, and may rewrite the text (Metaspace, ByteLevel): then it
/// writes a new text with `begin_rewrite`, word by word, and new ranges. Immutable after loading, shared by threads.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(PreTokenizedText& text) const = 0;
  virtual std::string_view type() const = 0;

  /// Asked once, while loading, before `pre_tokenize`: when the last step turns bytes into ByteLevel's characters,
  /// leave the bytes as they are from now on (the model reads bytes itself) and return true.
  virtual bool leave_bytes() { return false; }

  /// `tokenizer.json: pre_tokenizer`. Throws Error{model} that names an unknown type.
  static std::shared_ptr<PreTokenizer> from_json(const JsonValue& value);
};

/// What Split and Punctuation do with the text between the pieces that a pattern leaves.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
SplitBehavior split_behavior_from_json(const JsonValue& value);

/// Cuts `word` at `matches` (ranges of the text, inside the word, left to right, no overlap) and appends what is left
/// to `out`; `invert`: the stretches between the matches are the delimiters. Empty pieces are dropped. Source:
/// tokenizers 0.22.2, NormalizedString::split.
void split_word(Span word, const std::vector<Span>& matches, SplitBehavior behavior, bool invert,
                std::vector<Span>& out);

}  // namespace mha::tokenizer
