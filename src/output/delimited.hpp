#pragma once

#include <string>
#include <string_view>

namespace mha {

/// A field as in RFC 4180: quoted if it contains a comma, a quote or a line end.
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

/// A field of TSV: tab, line ends and backslash as escapes.
inline void append_tsv_field(std::string& out, std::string_view field) {
  for (const char c : field) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
}

/// How fields are kept apart.
struct Dialect {
  char separator;
  void (*append_field)(std::string& out, std::string_view field);
};
inline constexpr Dialect kCsv{',', append_csv_field};
inline constexpr Dialect kTsv{'\t', append_tsv_field};

}  // namespace mha
