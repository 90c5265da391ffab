#pragma once

#include <cstddef>

#include "mha/tokenizer/encoding.hpp"

namespace mha {

/// Leaves out the tokens for which `keep(index)` is false. `full_length` counts them no more.
template <class Keep>
void keep_tokens(Encoding& encoding, const Keep& keep) {
  std::size_t kept = 0;
  const std::size_t size = encoding.size();
  for (std::size_t i = 0; i < size; ++i) {
    if (!keep(i)) continue;
    encoding.input_ids[kept] = encoding.input_ids[i];
    encoding.token_type_ids[kept] = encoding.token_type_ids[i];
    encoding.offsets[kept] = encoding.offsets[i];
    encoding.special_tokens_mask[kept] = encoding.special_tokens_mask[i];
    encoding.word_ids[kept] = encoding.word_ids[i];
    encoding.sequence_ids[kept] = encoding.sequence_ids[i];
    ++kept;
  }
  encoding.full_length -= size - kept;
  encoding.input_ids.resize(kept);
  encoding.token_type_ids.resize(kept);
  encoding.offsets.resize(kept);
  encoding.special_tokens_mask.resize(kept);
  encoding.word_ids.resize(kept);
  encoding.sequence_ids.resize(kept);
}

}  // namespace mha
