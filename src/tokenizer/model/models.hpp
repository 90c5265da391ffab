#pragma once

#include <vector>

#include "tokenizer/json.hpp"
#include "tokenizer/model/model.hpp"

// One maker a model; model.cpp holds the table of their names and tells untagged ones apart.
namespace mha::tokenizer {

std::shared_ptr<Model> make_word_piece(const JsonValue& value);
std::shared_ptr<Model> make_word_level(const JsonValue& value);

/// Reads `vocab`, an object of token → id, for the models that have one.
Vocab read_vocab(const JsonValue& value);

}  // namespace mha::tokenizer
