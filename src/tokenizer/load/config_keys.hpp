#pragma once

#include <string>
#include <vector>

namespace mha::tokenizer {

class JsonValue;

/// The files whose keys have rules.
enum class KeyFile { tokenizer_config, special_tokens_map, tokenizer_json };

/// Applies the rules for the keys of a file: a key that is read or harmless is accepted; an unknown one gives a note;
/// one that would change the tokens and is not implemented is refused with Error{model} that names it.
void check_keys(const JsonValue& root, KeyFile file, std::vector<std::string>& notes);

}  // namespace mha::tokenizer
