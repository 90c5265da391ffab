#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mha {

/// Appends the text as a JSON string, quotes included. `"`, `\` and control characters are escaped, everything else is
/// copied. The text must be valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

/// Appends `[v0,v1,…]`. Each value is written by `append_float`: the shortest text, or rounded to `digits` places after
/// the point if `digits` is not negative. A value that is not finite is an internal error.
void append_json_array(std::string& out, std::span<const float> values, int digits = -1);

}  // namespace mha
