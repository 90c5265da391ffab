#pragma once

#include "tokenizer/decoder/decoder.hpp"
#include "tokenizer/json.hpp"

// One maker a component; decoder.cpp holds the table of their names.
namespace mha::tokenizer {

using DecoderPtr = std::shared_ptr<const Decoder>;

DecoderPtr make_word_piece_decoder(const JsonValue& value);

}  // namespace mha::tokenizer
