#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/models/models.hpp"

namespace mha::test {

using Pieces = std::vector<std::array<std::uint32_t, 3>>;  // id, begin, end

/// The pieces of one word; the same when the model is asked again.
inline Pieces cut(const tokenizer::TokenModel& model, std::string_view text) {
  const auto scratch = model.make_scratch();
  std::vector<tokenizer::Piece> pieces;
  const Span word{0, static_cast<std::uint32_t>(text.size())};
  Pieces result;
  for (int pass = 0; pass < 2; ++pass) {  // the second time from the word cache
    pieces.clear();
    model.tokenize(text, std::span(&word, 1), *scratch, pieces);
    Pieces found;
    for (const tokenizer::Piece& piece : pieces)
      found.push_back({static_cast<std::uint32_t>(piece.id), piece.begin, piece.end});
    if (pass == 1) CHECK(found == result);
    result = found;
  }
  return result;
}

}  // namespace mha::test
