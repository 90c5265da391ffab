#include "tokenizer/decoder/decoder.hpp"

#include "tokenizer/decoder/decoders.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  DecoderPtr (*make)(const JsonValue&);
};

constexpr Row kDecoders[] = {
    {"BPEDecoder", make_bpe_decoder},
    {"ByteFallback", make_byte_fallback},
    {"ByteLevel", make_byte_level_decoder},
    {"CTC", make_ctc},
    {"Fuse", make_fuse},
    {"Metaspace", make_metaspace_decoder},
    {"Replace", make_replace_decoder},
    {"Sequence", make_decoder_sequence},
    {"Strip", make_strip_decoder},
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
