#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/models/token_model.hpp"

namespace mha::tokenizer {

/// Number of characters at the two ends of a token's text that trimming removes from its offsets.
struct Margins {
  std::uint32_t leading = 0;
  std::uint32_t trailing = 0;
};

/// The tokens of one text, before truncation and template.
struct TokenSequence {
  std::string_view text;
  std::vector<Piece> tokens;  ///< their ranges are bytes of `text`
  /// Margins of the tokens whose text is not their vocabulary entry: (index of the token, margins), ascending.
  std::vector<std::pair<std::uint32_t, Margins>> own_margins;
};

/// Half-open range of tokens of a sequence.
struct TokenRange {
  std::size_t begin;
  std::size_t end;
};

}  // namespace mha::tokenizer
