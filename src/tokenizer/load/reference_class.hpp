#pragma once

#include <string>
#include <string_view>

#include "tokenizer/load/settings.hpp"

namespace mha::tokenizer {

/// What the reference's tokenizer class builds by itself from a vocabulary and tokenizer_config.json.
/// Source: transformers 5.24.0, models/*/tokenization_*.py and models/auto/tokenization_auto.py.
enum class ClassKind {
  generic,     ///< nothing: the tokenizer.json is used as it is (TokenizersBackend)
  bert,        ///< WordPiece of vocab.txt
  mpnet,       ///< the same with other special tokens
  funnel,      ///< the same with other special tokens
  byte_bpe,    ///< byte-level BPE of vocab.json and merges.txt, options from tokenizer_config.json
  metaspace,   ///< SentencePiece with WhitespaceSplit and Metaspace
  deberta_v2,  ///< SentencePiece without WhitespaceSplit
  other,       ///< a class that reads tokenizer.json or SentencePiece in a way of its own
  python,      ///< cuts texts in Python code, from files of its own: no tokenizer.json holds it
  unknown,     ///< no class of the reference
};

ClassKind kind_of_class(std::string_view name);

/// The class that the reference takes for these settings, without "Fast": that of the tokenizer's files, unless it is
/// generic, else that of the model type. Empty: the generic one.
std::string reference_class(const TokenizerSettings& settings);

}  // namespace mha::tokenizer
