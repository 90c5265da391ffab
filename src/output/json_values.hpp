#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mha {

/// Appends a JSON string of a text that need not be UTF-8, such as a vocabulary entry: what is malformed becomes
/// U+FFFD.
void append_json_piece(std::string& out, std::string_view text);

/// Appends a number, shortest or rounded to `digits` places.
void append_number(std::string& out, float value, std::optional<int> digits);
void append_number(std::string& out, std::size_t value);
void append_number(std::string& out, std::int32_t value);

/// Appends `values` as nested arrays of the given shape (the product of the extents is the size).
void append_nested_array(std::string& out, std::span<const float> values, std::span<const std::size_t> shape,
                         std::optional<int> digits);

}  // namespace mha
