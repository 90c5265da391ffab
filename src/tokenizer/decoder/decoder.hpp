#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

class JsonValue;

/// Back from tokens to text. Immutable, shared by threads.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// The reference's decode_chain: rewrites the tokens; the text is all of them joined without a separator.
  virtual void decode(std::vector<std::string>& tokens) const = 0;
  virtual std::string_view type() const = 0;

  /// `tokenizer.json: decoder`. Throws Error{model} that names an unknown type.
  static std::shared_ptr<const Decoder> from_json(const JsonValue& value);
};

}  // namespace mha::tokenizer
