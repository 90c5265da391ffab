#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "mha/model/sentence.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace mha {

/// The prompt before an input. A name chooses that prompt; a role chooses `query`, or the first of `document`,
/// `passage` and `corpus`. Without either, or if the model has no prompt for that role, it is the default prompt.
/// Throws Error{usage} for an unknown name or role, with the nearest.
struct PromptChoice {
  std::optional<std::string> text;  ///< --prompt: as it is, also when empty
  std::optional<std::string> name;  ///< --prompt-name
  std::optional<std::string> role;  ///< --role
};
std::string choose_prompt(const SentenceConfig& sentence, const PromptChoice& choice);

/// Tokens at the start of an input that belong to the prompt: those of the prompt alone minus its closing special
/// (sentence-transformers 6.2). 0 for an empty prompt.
std::size_t prompt_token_count(const Tokenizer& tokenizer, const std::string& prompt, const EncodeOptions& options,
                               TokenizerScratch& scratch);

}  // namespace mha
