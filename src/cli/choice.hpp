#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha::cli {

/// Throws Error{usage} `option: expected one of a, b, c, got "x"; did you mean "c"?`.
[[noreturn]] void refuse_choice(std::string_view option, std::string_view got, std::span<const std::string> choices);

/// The value that a word stands for.
template <class Value>
Value choose(std::string_view option, std::string_view word,
             std::initializer_list<std::pair<const char*, Value>> choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (word == name) return value;
    names.emplace_back(name);
  }
  refuse_choice(option, word, names);
}

/// A whole number of at least `least`; throws Error{usage} that names the option.
std::size_t parse_count(std::string_view option, std::string_view text, std::size_t least);

}  // namespace mha::cli
