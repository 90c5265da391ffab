#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mha {

/// Half-open range of bytes of the original UTF-8 text, always on character borders.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// What a tokenizer makes of one input (a text, or a text and its pair). All arrays have one entry a token.
/// Reuse one Encoding for many texts: `clear` keeps the memory.
struct Encoding {
  std::vector<std::int32_t> input_ids;
  std::vector<std::int32_t> token_type_ids;
  std::vector<Span>
      offsets;  ///< bytes; {0,0} for specials the template added; a pair's texts count each from its own start
  std::vector<std::uint8_t> special_tokens_mask;  ///< 1 only for tokens added by the template (or padding)
  std::vector<std::int32_t> word_ids;             ///< number of the pre-tokenizer's word, -1 for added specials
  std::vector<std::int8_t> sequence_ids;          ///< 0 text, 1 pair, -1 added specials

  std::size_t full_length = 0;        ///< tokens with specials before truncation
  std::vector<Encoding> overflowing;  ///< the further windows, when a stride was asked for

  std::size_t size() const { return input_ids.size(); }
  bool truncated() const { return full_length > size(); }
  void clear() {
    input_ids.clear();
    token_type_ids.clear();
    offsets.clear();
    special_tokens_mask.clear();
    word_ids.clear();
    sequence_ids.clear();
    full_length = 0;
    overflowing.clear();
  }
};

}  // namespace mha
