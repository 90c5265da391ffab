#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mha/model/model.hpp"
#include "model/sentence_modules.hpp"

namespace mha {

/// The keys of an mha-json `config` that say how a sentence vector is made; they are taken out of `config`, so that
/// what remains are the encoder's switches. `file` is for decisions, `origin` for messages.
///   "pooling": "mean" or an array of modes (default mean) · "normalize": false · "max_length": none ·
///   "lowercase": false (texts are lower-cased before the tokenizer) · "include_prompt": true · "prompts": {} ·
///   "default_prompt_name": none · "similarity": "cosine" ·
///   "dense": [{"in", "out", "bias": true, "activation": "tanh", "normalize_input": false}], whose arrays are
///   `dense.N.weight` and `dense.N.bias`.
/// Errors: model.
SentenceModules take_json_sentence(nlohmann::json& config, const std::string& file, const std::string& origin);

/// The inverse: adds those keys to `config` where they differ from their defaults.
void add_json_sentence(nlohmann::json& config, const SentenceModules& sentence);

}  // namespace mha
