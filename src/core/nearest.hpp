#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mha {

/// Fewest insertions, deletions and substitutions of bytes that turn one text into the other (Levenshtein 1966).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to a misspelt name, or nothing if more than a third of the name would change. The first of
/// equals wins. Texts longer than 256 bytes are not compared.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace mha
