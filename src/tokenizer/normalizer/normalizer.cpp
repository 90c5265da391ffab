#include "tokenizer/normalizer/normalizer.hpp"

#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  NormalizerPtr (*make)(const JsonValue&);
};

constexpr Row kNormalizers[] = {
    {"BertNormalizer", make_bert_normalizer},
    {"ByteLevel", make_byte_level_normalizer},
    {"Lowercase", make_lowercase},
    {"NFC", make_nfc},
    {"NFD", make_nfd},
    {"NFKC", make_nfkc},
    {"NFKD", make_nfkd},
    {"Nmt", make_nmt},
    {"Prepend", make_prepend},
    {"Precompiled", make_precompiled},
    {"Replace", make_replace},
    {"Sequence", make_normalizer_sequence},
    {"Strip", make_strip},
    {"StripAccents", make_strip_accents},
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
