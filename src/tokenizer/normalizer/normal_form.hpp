#pragma once

#include "tokenizer/normalizer/normalized_text.hpp"

namespace mha::tokenizer {

/// Brings the text into a normal form of Unicode 9.0; then removes characters with one of the flags `dropped`.
void to_normal_form(NormalizedText& text, unicode::Form form, std::uint32_t dropped = 0);

}  // namespace mha::tokenizer
