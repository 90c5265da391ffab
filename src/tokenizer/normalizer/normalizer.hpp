#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/normalizer/normalized_text.hpp"

namespace mha::tokenizer {

class JsonValue;

/// First stage: rewrites the characters of a text. Immutable, shared by threads.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(NormalizedText& text) const = 0;
  /// The component's name in tokenizer.json.
  virtual std::string_view type() const = 0;

  /// `tokenizer.json: normalizer`. Throws Error{model} that names an unknown type.
  static std::shared_ptr<const Normalizer> from_json(const JsonValue& value);
};

}  // namespace mha::tokenizer
