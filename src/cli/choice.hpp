#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha::cli {

/// Throws Error{usage} `option: expected one of a, b, c, got "x"; did you mean "c"?`.
[[noreturn]] void refuse_choice(std::string_view option, std::string_view got, std::span<const std::string> choices);

/// The value that a word names.
template <class Value>
Value choose(std::string_view option, std::string_view word,
             const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (word == name) return value;
    names.push_back(name);
  }
  refuse_choice(option, word, names);
}

/// A whole number from `least` to `most`; throws Error{usage} that names the option.
std::size_t parse_count(std::string_view option, std::string_view text, std::size_t least,
                        std::size_t most = static_cast<std::size_t>(-1));

/// Items separated by commas, with their blanks; `\\,` is a comma and `\\\\` a backslash inside an item. Throws
/// Error{usage} that names the option for an empty item.
std::vector<std::string> parse_list(std::string_view option, std::string_view text);

/// Throws Error{usage} for an empty name.
void require_named(std::string_view option, std::string_view value);

}  // namespace mha::cli
