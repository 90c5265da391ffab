#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha::tokenizer {
namespace {

struct Row {
  std::string_view type;
  PreTokenizerPtr (*make)(const JsonValue&);
};

constexpr Row kPreTokenizers[] = {
    {"BertPreTokenizer", make_bert_pre_tokenizer},
    {"ByteLevel", make_byte_level},
    {"CharDelimiterSplit", make_char_delimiter_split},
    {"Digits", make_digits},
    {"FixedLength", make_fixed_length},
    {"Metaspace", make_metaspace},
    {"Punctuation", make_punctuation},
    {"Sequence", make_pre_tokenizer_sequence},
    {"Split", make_split},
    {"UnicodeScripts", make_unicode_scripts},
    {"Whitespace", make_whitespace},
    {"WhitespaceSplit", make_whitespace_split},
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
