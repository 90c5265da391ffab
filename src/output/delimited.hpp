#pragma once

#include <string>
#include <string_view>

namespace mha {

/// A field as RFC 4180 has it: quoted where it holds a comma, a quote or a line end.
inline void append_csv_field(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace mha
