#include "tokenizer/decoder/decoder.hpp"

#include "core/utf8.hpp"
#include "tokenizer/decoder/decoders.hpp"
#include "tokenizer/json.hpp"

namespace mha::tokenizer {

WordPieceDecoderOptions WordPieceDecoderOptions::from_json(const JsonValue& value) {
  return {value.at("prefix").as_string(), value.at("cleanup").as_bool()};
}

StripDecoderOptions StripDecoderOptions::from_json(const JsonValue& value) {
  constexpr std::int64_t kMost = 1 << 20;
  const JsonValue content = value.at("content");
  StripDecoderOptions options;
  options.content = content.as_string();
  if (utf8::length(options.content) != 1) content.fail("one character");
  options.start = static_cast<std::size_t>(value.at("start").as_integer(0, kMost));
  options.stop = static_cast<std::size_t>(value.at("stop").as_integer(0, kMost));
  return options;
}

CtcOptions CtcOptions::from_json(const JsonValue& value) {
  return {value.at("pad_token").as_string(), value.at("word_delimiter_token").as_string(),
          value.at("cleanup").as_bool()};
}

namespace {

DecoderPtr replace_from_json(const JsonValue& value) {
  return make_replace_decoder(Pattern::from_json(value.at("pattern")), value.at("content").as_string());
}

DecoderPtr sequence_from_json(const JsonValue& value) {
  std::vector<DecoderPtr> steps;
  for (const JsonValue step : value.at("decoders").elements()) steps.push_back(Decoder::from_json(step));
  return make_decoder_sequence(std::move(steps));
}

struct Row {
  std::string_view type;
  DecoderPtr (*make)(const JsonValue&);
};

constexpr Row kDecoders[] = {
    {"BPEDecoder", [](const JsonValue& value) { return make_bpe_decoder(value.at("suffix").as_string()); }},
    {"ByteFallback", [](const JsonValue&) { return make_byte_fallback(); }},
    {"ByteLevel", [](const JsonValue&) { return make_byte_level_decoder(); }},
    {"CTC", [](const JsonValue& value) { return make_ctc(CtcOptions::from_json(value)); }},
    {"Fuse", [](const JsonValue&) { return make_fuse(); }},
    {"Metaspace", [](const JsonValue& value) { return make_metaspace_decoder(MetaspaceOptions::from_json(value)); }},
    {"Replace", replace_from_json},
    {"Sequence", sequence_from_json},
    {"Strip", [](const JsonValue& value) { return make_strip_decoder(StripDecoderOptions::from_json(value)); }},
    {"WordPiece",
     [](const JsonValue& value) { return make_word_piece_decoder(WordPieceDecoderOptions::from_json(value)); }},
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
