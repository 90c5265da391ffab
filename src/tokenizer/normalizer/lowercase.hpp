#pragma once

#include "tokenizer/normalizer/normalized_text.hpp"

namespace mha::tokenizer {

/// Lower case per code point, without context: no final sigma, İ becomes i and U+0307 (Rust's char::to_lowercase).
void to_lowercase(NormalizedText& text);

}  // namespace mha::tokenizer
