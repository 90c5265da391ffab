#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mha/tokenizer/encoding.hpp"

namespace mha::test {

/// Padding as the reference does it, to compare with its goldens. The program itself batches ragged inputs.
struct Padding {
  std::optional<std::size_t> length;  ///< to this many tokens; empty: to the longest of the batch
  std::size_t multiple_of = 0;        ///< rounds the length up to a multiple; 0: any length
  bool left = false;
  std::int32_t id = 0;
  std::int32_t type_id = 0;
};

inline void pad(std::vector<Encoding>& batch, const Padding& padding) {
  std::size_t length = padding.length.value_or(0);
  if (!padding.length) {
    for (const Encoding& encoding : batch) length = std::max(length, encoding.size());
  }
  if (padding.multiple_of > 0) length += (padding.multiple_of - length % padding.multiple_of) % padding.multiple_of;
  for (Encoding& encoding : batch) {
    if (encoding.size() >= length) continue;
    const std::size_t missing = length - encoding.size();
    const auto insert = [&](auto& values, auto value) {
      values.insert(padding.left ? values.begin() : values.end(), missing, value);
    };
    insert(encoding.input_ids, padding.id);
    insert(encoding.token_type_ids, padding.type_id);
    insert(encoding.offsets, Span{});
    insert(encoding.special_tokens_mask, std::uint8_t{1});
    insert(encoding.word_ids, std::int32_t{-1});
    insert(encoding.sequence_ids, std::int8_t{-1});
  }
}

}  // namespace mha::test
