#pragma once

#include <string>
#include <vector>

#include "tokenizer/json.hpp"
#include "tokenizer/models/bpe.hpp"
#include "tokenizer/models/token_model.hpp"
#include "tokenizer/models/unigram.hpp"

// One maker a model; model.cpp holds the table of their names and tells untagged ones apart.
namespace mha::tokenizer {

std::shared_ptr<TokenModel> make_word_piece(const JsonValue& value);
std::shared_ptr<TokenModel> make_bpe(const JsonValue& value);
std::shared_ptr<TokenModel> make_unigram(const JsonValue& value);
std::shared_ptr<TokenModel> make_word_level(const JsonValue& value);

// The same from parts, for the older file sets.
struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  std::size_t max_input_chars_per_word = 100;  ///< characters; longer words are unknown
};
std::shared_ptr<TokenModel> make_word_piece(Vocab vocab, WordPieceOptions options);
std::shared_ptr<TokenModel> make_word_level(Vocab vocab, std::string unk_token);
std::shared_ptr<TokenModel> make_bpe(BpeOptions parts);
std::shared_ptr<TokenModel> make_unigram(UnigramOptions parts);

/// Reads `vocab`, an object of token → id, for the models that have one.
Vocab read_vocab(const JsonValue& value);

}  // namespace mha::tokenizer
