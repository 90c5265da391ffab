#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"
#include "tokenizer/token_sequence.hpp"

namespace mha::tokenizer {

/// White space, or Ġ (the byte-level space), at the two ends of a token's text.
Margins margins_of(std::string_view token);

/// Removes from offsets the spaces that byte-level tokens carry.
/// Source: tokenizers 0.22.2, pre_tokenizers/byte_level.rs, process_offsets; its characters are bytes here.
class OffsetTrimmer {
 public:
  OffsetTrimmer() = default;
  explicit OffsetTrimmer(const Vocab& vocab);

  /// Whether this tokenizer trims at all.
  bool empty() const { return margins_.empty(); }

  /// Trims the offsets of the tokens `range` of a sequence; `offsets` has one entry per token of the range.
  void trim(const TokenSequence& sequence, TokenRange range, const Vocab& vocab, bool add_prefix_space,
            Span* offsets) const;

 private:
  /// By id: leading and trailing margin in four bits each, so that the table stays in the CPU cache.
  std::vector<std::uint8_t> margins_;
};

}  // namespace mha::tokenizer
