#pragma once

#include "tokenizer/decoder/decoder.hpp"
#include "tokenizer/json.hpp"

// One maker a component; decoder.cpp holds the table of their names.
namespace mha::tokenizer {

using DecoderPtr = std::shared_ptr<const Decoder>;

DecoderPtr make_bpe_decoder(const JsonValue& value);
DecoderPtr make_byte_fallback(const JsonValue& value);
DecoderPtr make_byte_level_decoder(const JsonValue& value);
DecoderPtr make_ctc(const JsonValue& value);
DecoderPtr make_decoder_sequence(const JsonValue& value);
DecoderPtr make_fuse(const JsonValue& value);
DecoderPtr make_metaspace_decoder(const JsonValue& value);
DecoderPtr make_replace_decoder(const JsonValue& value);
DecoderPtr make_strip_decoder(const JsonValue& value);
DecoderPtr make_word_piece_decoder(const JsonValue& value);

}  // namespace mha::tokenizer
