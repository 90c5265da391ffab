#include "tokenizer/decoder/decoder.hpp"

#include "tokenizer/decoder/decoders.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  DecoderPtr (*make)(const JsonValue&);
};

constexpr Row kDecoders[] = {
    {"WordPiece", make_word_piece_decoder},
};

}  // namespace

DecoderPtr Decoder::from_json(const JsonValue& value) {
  const JsonValue type = value.at("type");
  const std::string name = type.as_string();
  for (const Row& row : kDecoders) {
    if (row.type == name) return row.make(value);
  }
  type.error("unknown decoder \"" + name + "\"");
}

}  // namespace mha::tokenizer
