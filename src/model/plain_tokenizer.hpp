#pragma once

#include <memory>

#include "mha/tokenizer/tokenizer.hpp"

namespace mha {

/// The same tokenizer, which adds no special tokens to texts. `without_unknown` also leaves out tokens that stand for
/// words outside the vocabulary (model2vec, StaticModel.tokenize).
std::shared_ptr<const Tokenizer> without_special_tokens(std::shared_ptr<const Tokenizer> tokenizer,
                                                        bool without_unknown);

}  // namespace mha
