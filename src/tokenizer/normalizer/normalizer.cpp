#include "tokenizer/normalizer/normalizer.hpp"

#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {

BertNormalizerOptions BertNormalizerOptions::from_json(const JsonValue& value) {
  BertNormalizerOptions options;
  options.clean_text = value.at("clean_text").as_bool();
  options.handle_chinese_chars = value.at("handle_chinese_chars").as_bool();
  options.lowercase = value.at("lowercase").as_bool();
  if (const auto strip = value.find("strip_accents")) options.strip_accents = strip->as_bool();
  return options;
}

StripOptions StripOptions::from_json(const JsonValue& value) {
  return {value.at("strip_left").as_bool(), value.at("strip_right").as_bool()};
}

ReplaceOptions ReplaceOptions::from_json(const JsonValue& value) {
  return {Pattern::from_json(value.at("pattern")), value.at("content").as_string()};
}

namespace {

NormalizerPtr precompiled_from_json(const JsonValue& value) {
  // Absent and null mean an empty map, as in the files of models that were trained without one.
  const auto map = value.find("precompiled_charsmap");
  if (!map) return make_precompiled(Charsmap());
  std::string buffer;
  return make_precompiled(Charsmap(decode_base64(map->as_view(buffer), map->where()), map->where()));
}

NormalizerPtr sequence_from_json(const JsonValue& value) {
  std::vector<NormalizerPtr> steps;
  for (const JsonValue step : value.at("normalizers").elements()) steps.push_back(Normalizer::from_json(step));
  return make_normalizer_sequence(std::move(steps));
}

struct Row {
  std::string_view type;
  NormalizerPtr (*make)(const JsonValue&);
};

constexpr Row kNormalizers[] = {
    {"BertNormalizer",
     [](const JsonValue& value) { return make_bert_normalizer(BertNormalizerOptions::from_json(value)); }},
    {"ByteLevel", [](const JsonValue&) { return make_byte_level_normalizer(); }},
    {"Lowercase", [](const JsonValue&) { return make_lowercase(); }},
    {"NFC", [](const JsonValue&) { return make_nfc(); }},
    {"NFD", [](const JsonValue&) { return make_nfd(); }},
    {"NFKC", [](const JsonValue&) { return make_nfkc(); }},
    {"NFKD", [](const JsonValue&) { return make_nfkd(); }},
    {"Nmt", [](const JsonValue&) { return make_nmt(); }},
    {"Prepend", [](const JsonValue& value) { return make_prepend(value.at("prepend").as_string()); }},
    {"Precompiled", precompiled_from_json},
    {"Replace", [](const JsonValue& value) { return make_replace(ReplaceOptions::from_json(value)); }},
    {"Sequence", sequence_from_json},
    {"Strip", [](const JsonValue& value) { return make_strip(StripOptions::from_json(value)); }},
    {"StripAccents", [](const JsonValue&) { return make_strip_accents(); }},
};

}  // namespace

NormalizerPtr Normalizer::from_json(const JsonValue& value) {
  const JsonValue type = value.at("type");
  const std::string name = type.as_string();
  for (const Row& row : kNormalizers) {
    if (row.type == name) return row.make(value);
  }
  type.error("unknown normalizer \"" + name + "\"");
}

}  // namespace mha::tokenizer
