#pragma once

#include <cstddef>
#include <optional>

#include "cli/options/group.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {

/// What becomes of an input that has more tokens than the model reads; `by_model`: its tokenizer says which end is
/// kept.
enum class Truncation { by_model, head, tail, error };

/// How inputs become tokens.
struct TokenOptions {
  Truncation truncation = Truncation::by_model;
  std::optional<std::size_t> max_length;
  bool no_special_tokens = false;
  bool plain_specials = false;
  PromptChoice prompt;
};

extern const OptionGroup kTokens;

}  // namespace mha::cli
