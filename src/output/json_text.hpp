#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mha {

/// Appends a JSON string. Bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends a number, shortest or rounded to `digits` places.
void append_number(std::string& out, float value, std::optional<int> digits);
void append_number(std::string& out, std::size_t value);
void append_number(std::string& out, std::int32_t value);

/// Appends `values` as nested arrays of the given shape (the product of the extents is the size).
void append_json_array(std::string& out, std::span<const float> values, std::span<const std::size_t> shape,
                       std::optional<int> digits);

}  // namespace mha
