#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

#include "core/utf8.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {

ByteLevelOptions ByteLevelOptions::from_json(const JsonValue& value) {
  // Only the post-processor of the same name uses trim_offsets, but the reference requires it here too.
  value.at("trim_offsets").as_bool();
  return {value.at("add_prefix_space").as_bool(), value.bool_or("use_regex", true)};
}

SplitOptions SplitOptions::from_json(const JsonValue& value) {
  return {Pattern::from_json(value.at("pattern")), split_behavior_from_json(value.at("behavior")),
          value.at("invert").as_bool()};
}

namespace {

PreTokenizerPtr punctuation_from_json(const JsonValue& value) {
  const auto behavior = value.find("behavior");
  return make_punctuation(behavior ? split_behavior_from_json(*behavior) : SplitBehavior::isolated);
}

PreTokenizerPtr digits_from_json(const JsonValue& value) {
  return make_digits(value.at("individual_digits").as_bool() ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

PreTokenizerPtr char_delimiter_split_from_json(const JsonValue& value) {
  const JsonValue delimiter = value.at("delimiter");
  const std::string text = delimiter.as_string();
  std::size_t at = 0;
  const char32_t character = text.empty() ? 0 : utf8::next(text, at);
  if (text.empty() || at != text.size()) delimiter.error("expected one character, got \"" + text + "\"");
  return make_char_delimiter_split(character);
}

PreTokenizerPtr fixed_length_from_json(const JsonValue& value) {
  const auto length = value.find("length");
  return make_fixed_length(length ? static_cast<std::size_t>(length->as_integer(1, 1LL << 40)) : 5);
}

PreTokenizerPtr sequence_from_json(const JsonValue& value) {
  std::vector<PreTokenizerPtr> steps;
  for (const JsonValue step : value.at("pretokenizers").elements()) steps.push_back(PreTokenizer::from_json(step));
  return make_pre_tokenizer_sequence(std::move(steps));
}

struct Row {
  std::string_view type;
  PreTokenizerPtr (*make)(const JsonValue&);
};

constexpr Row kPreTokenizers[] = {
    {"BertPreTokenizer", [](const JsonValue&) { return make_bert_pre_tokenizer(); }},
    {"ByteLevel", [](const JsonValue& value) { return make_byte_level(ByteLevelOptions::from_json(value)); }},
    {"CharDelimiterSplit", char_delimiter_split_from_json},
    {"Digits", digits_from_json},
    {"FixedLength", fixed_length_from_json},
    {"Metaspace", [](const JsonValue& value) { return make_metaspace(MetaspaceOptions::from_json(value)); }},
    {"Punctuation", punctuation_from_json},
    {"Sequence", sequence_from_json},
    {"Split", [](const JsonValue& value) { return make_split(SplitOptions::from_json(value)); }},
    {"UnicodeScripts", [](const JsonValue&) { return make_unicode_scripts(); }},
    {"Whitespace", [](const JsonValue&) { return make_whitespace(); }},
    {"WhitespaceSplit", [](const JsonValue&) { return make_whitespace_split(); }},
};

}  // namespace

PreTokenizerPtr PreTokenizer::from_json(const JsonValue& value) {
  const JsonValue type = value.at("type");
  const std::string name = type.as_string();
  for (const Row& row : kPreTokenizers) {
    if (row.type == name) return row.make(value);
  }
  type.error("unknown pre_tokenizer \"" + name + "\"");
}

}  // namespace mha::tokenizer
