#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

/// What a SentencePiece `.model` file holds, as far as encoding needs it.
/// Source: google/sentencepiece, src/sentencepiece_model.proto (ModelProto).
struct SentencePieceModel {
  enum class Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  std::vector<Piece> pieces;
  Kind kind = Kind::unigram;
  std::int32_t unk_id = 0;
  std::string unk_piece = "<unk>";
  bool byte_fallback = false;

  std::string charsmap;  ///< precompiled; empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// Throws Error{model} that names `origin` for anything but a whole model: cut or overlong fields, no pieces, a piece
/// twice, empty or no UTF-8, a normal piece without a finite score, an unknown piece that is none.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& origin);

}  // namespace mha::tokenizer
