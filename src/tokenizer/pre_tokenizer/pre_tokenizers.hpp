#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tokenizer/metaspace_options.hpp"
#include "tokenizer/pattern/pattern.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

// The pre-tokenizers, each made from its options. `from_json` reads the options of a `tokenizer.json`;
// pre_tokenizer.cpp holds the table of the names there.
namespace mha::tokenizer {

using PreTokenizerPtr = std::shared_ptr<PreTokenizer>;

PreTokenizerPtr make_bert_pre_tokenizer();

/// GPT-2's pre-tokenizer.
struct ByteLevelOptions {
  bool add_prefix_space = true;  ///< puts a space before each segment that does not begin with one
  bool use_regex = true;         ///< cuts at GPT-2's pattern first

  static ByteLevelOptions from_json(const JsonValue& value);
};
PreTokenizerPtr make_byte_level(const ByteLevelOptions& options);

PreTokenizerPtr make_metaspace(MetaspaceOptions options);

struct SplitOptions {
  std::shared_ptr<const Pattern> pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  ///< the text between the matches is the delimiter

  static SplitOptions from_json(const JsonValue& value);
};
PreTokenizerPtr make_split(SplitOptions options);

/// `\w+|[^\w\s]+`: runs of word characters, and runs of characters that are neither word nor space.
PreTokenizerPtr make_whitespace();
PreTokenizerPtr make_whitespace_split();
PreTokenizerPtr make_punctuation(SplitBehavior behavior);
PreTokenizerPtr make_digits(SplitBehavior behavior);
PreTokenizerPtr make_char_delimiter_split(char32_t delimiter);
PreTokenizerPtr make_unicode_scripts();
/// Words of `length` characters; the last one may be shorter.
PreTokenizerPtr make_fixed_length(std::size_t length);
PreTokenizerPtr make_pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps);

}  // namespace mha::tokenizer
