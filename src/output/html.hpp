#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// What a page or picture says about its input besides the weights.
struct InputFacts {
  std::string text;
  std::optional<std::string> text_pair;
  std::string model;
  /// What was done before the weights were drawn: cut, ablated, averaged, hidden.
  std::vector<std::string> notes;
};

/// `text` with the five characters that mean something in HTML and XML replaced, control characters that XML forbids as
/// U+FFFD.
std::string escape_markup(std::string_view text);

/// One self-contained page with every map: nothing is loaded, its content security policy allows its own script and
/// style alone. Weights are packed as 16-bit fractions (error ≤ 2⁻¹⁷), above 3 million weights as 8-bit square roots
/// (error ≤ 0.004), in base64.
std::string attention_html(const AttentionMaps& maps, const InputFacts& facts);

}  // namespace mha
