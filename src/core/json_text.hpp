#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mha {

/// Appends the text as a JSON string with its quotes: `"`, `\` and control characters escaped, everything else as it
/// is. The text must be valid UTF-8.
void append_json_string(std::string& out, std::string_view text);

/// Appends `[v0,v1,…]`, each value as `append_float` has it: the shortest text, or rounded to `digits` places after
/// the point when `digits` is not negative. A value that is not finite is an internal error.
void append_json_array(std::string& out, std::span<const float> values, int digits = -1);

}  // namespace mha
