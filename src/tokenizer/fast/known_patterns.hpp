#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizer/pattern/pattern.hpp"

// Regular expressions that many tokenizers share, matched by hand: no engine stands between the text and its words.
// Tests hold them equal to Oniguruma on every character.
namespace mha::tokenizer {

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+` (openai/gpt-2, src/encoder.py):
/// ByteLevel's own pattern. It matches everything, so the matches are the words. Appends the words of text[word.begin,
/// word.end).
void split_like_gpt2(std::string_view text, Span word, std::vector<Span>& out);

/// The matcher of a known expression (GPT-2, GPT-4 and Llama 3, Qwen 2, CLIP, `\s+`, ` {2,}`, `.`),
/// empty for all others.
std::shared_ptr<const Pattern> find_known_pattern(std::string_view expression);

}  // namespace mha::tokenizer
