#pragma once

#include "tokenizer/json.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

// One maker a component; pre_tokenizer.cpp holds the table of their names.
namespace mha::tokenizer {

using PreTokenizerPtr = std::shared_ptr<PreTokenizer>;

PreTokenizerPtr make_bert_pre_tokenizer(const JsonValue& value);
PreTokenizerPtr make_byte_level(const JsonValue& value);
PreTokenizerPtr make_metaspace(const JsonValue& value);
PreTokenizerPtr make_split(const JsonValue& value);
PreTokenizerPtr make_whitespace(const JsonValue& value);
PreTokenizerPtr make_whitespace();
PreTokenizerPtr make_whitespace_split(const JsonValue& value);
PreTokenizerPtr make_punctuation(const JsonValue& value);
PreTokenizerPtr make_digits(const JsonValue& value);
PreTokenizerPtr make_char_delimiter_split(const JsonValue& value);
PreTokenizerPtr make_unicode_scripts(const JsonValue& value);
PreTokenizerPtr make_fixed_length(const JsonValue& value);
PreTokenizerPtr make_pre_tokenizer_sequence(const JsonValue& value);

}  // namespace mha::tokenizer
