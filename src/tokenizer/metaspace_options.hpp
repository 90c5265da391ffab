#pragma once

#include <string>

namespace mha::tokenizer {

class JsonValue;

/// What the pre-tokenizer and the decoder of SentencePiece's kind have in common.
struct MetaspaceOptions {
  enum class Prepend { always, first, never };

  std::string replacement = "▁";  ///< one character
  Prepend prepend = Prepend::always;
  bool split = true;

  /// Reads also the old forms (`add_prefix_space`, `str_rep`). Source: tokenizers 0.22.2, pre_tokenizers/metaspace.rs.
  static MetaspaceOptions from_json(const JsonValue& value);
};

}  // namespace mha::tokenizer
