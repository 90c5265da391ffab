#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tokenizer/decoder/decoder.hpp"
#include "tokenizer/metaspace_options.hpp"
#include "tokenizer/pattern/pattern.hpp"

// The decoders, each made from its options. `from_json` reads the options of a `tokenizer.json`; decoder.cpp holds the
// table of the names there.
namespace mha::tokenizer {

using DecoderPtr = std::shared_ptr<const Decoder>;

struct WordPieceDecoderOptions {
  std::string prefix = "##";  ///< of the pieces inside a word
  bool cleanup = true;        ///< English spacing: "do n't ." becomes "don't."

  static WordPieceDecoderOptions from_json(const JsonValue& value);
};
DecoderPtr make_word_piece_decoder(WordPieceDecoderOptions options);

DecoderPtr make_byte_level_decoder();
DecoderPtr make_byte_fallback();
DecoderPtr make_fuse();
DecoderPtr make_metaspace_decoder(MetaspaceOptions options);
/// `suffix` ends a word: it becomes a space.
DecoderPtr make_bpe_decoder(std::string suffix);

/// Removes up to `start` times `content`, one character, from the front of each token, and up to `stop` times from its
/// end.
struct StripDecoderOptions {
  std::string content = " ";
  std::size_t start = 0;
  std::size_t stop = 0;

  static StripDecoderOptions from_json(const JsonValue& value);
};
DecoderPtr make_strip_decoder(StripDecoderOptions options);

struct CtcOptions {
  std::string pad_token;
  std::string word_delimiter_token;
  bool cleanup = true;

  static CtcOptions from_json(const JsonValue& value);
};
DecoderPtr make_ctc(CtcOptions options);

DecoderPtr make_replace_decoder(std::shared_ptr<const Pattern> pattern, std::string content);
DecoderPtr make_decoder_sequence(std::vector<DecoderPtr> steps);

}  // namespace mha::tokenizer
