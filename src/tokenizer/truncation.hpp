#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mha/tokenizer/tokenizer.hpp"
#include "tokenizer/token_sequence.hpp"

namespace mha::tokenizer {

/// The token ranges that truncation leaves of a text and its pair: the kept range first, then, if a stride is given,
/// the ranges of the overflowing windows.
struct KeptRanges {
  std::vector<TokenRange> of_sequence[2];
};

/// Shortens a text of `first` tokens, and a pair of `second` if there is one, to `room` tokens together.
/// Throws Error{input} if the strategy cannot cut enough, Error{usage} for a stride that is not less than a window.
/// Source: tokenizers 0.22.2, utils/truncation.rs and tokenizer/encoding.rs.
KeptRanges truncate(std::size_t first, std::optional<std::size_t> second, std::size_t room,
                    const EncodeOptions& options);

}  // namespace mha::tokenizer
