#pragma once

#include <string>

#include "tokenizer/json.hpp"

namespace mha::test {

/// The tokenizer component (Decoder, Normalizer, …) that a small JSON text describes.
template <typename Component>
auto component(const std::string& json, const std::string& origin) {
  const tokenizer::JsonDocument document = tokenizer::JsonDocument::parse(json, origin);
  return Component::from_json(document.root());
}

}  // namespace mha::test
