#include "output/terminal_text.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdio>

#include "core/utf8.hpp"

namespace mha {
namespace {

bool needs_escape(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return true;
  return c == 0x2028 || c == 0x2029 || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E ||
         c == 0x200F || c == 0x061C;
}

std::size_t cluster_width(std::string_view cluster) {
  std::size_t width = 0;
  bool emoji_presentation = false;
  for (std::size_t position = 0; position < cluster.size();) {
    const char32_t c = utf8::next(cluster, position);
    if (c == 0xFE0F) emoji_presentation = true;
    width = std::max(width, static_cast<std::size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(c))));
  }
  return emoji_presentation && width > 0 ? 2 : width;
}

}  // namespace

namespace {

void append_escape(std::string& out, const char* format, unsigned value) {
  char escape[16];
  std::snprintf(escape, sizeof escape, format, value);
  out += escape;
}

// Valid UTF-8 with `format` in place of each character that needs it; `kept` lists those that stay all the same.
void append_escaped(std::string& out, std::string_view text, const char* format, std::string_view kept) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    const char32_t c = utf8::next(text, position);
    const bool keep = c < 0x80 && kept.find(static_cast<char>(c)) != std::string_view::npos;
    if (!needs_escape(c) || keep) {
      out.append(text, begin, position - begin);
    } else {
      append_escape(out, format, static_cast<unsigned>(c));
    }
  }
}

void append_visible(std::string& out, std::string_view text) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t begin = position;
    const char32_t c = utf8::next(text, position);
    if (!needs_escape(c)) {
      out.append(text, begin, position - begin);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      append_escape(out, "\\u{%x}", static_cast<unsigned>(c));
    }
  }
}

}  // namespace

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (;;) {
    const std::size_t invalid = utf8::first_invalid(text);
    append_visible(out, text.substr(0, invalid));
    if (invalid == utf8::kValid) return out;
    append_escape(out, "\\x%02x", static_cast<unsigned char>(text[invalid]));
    text.remove_prefix(invalid + 1);
  }
}

std::string json_for_terminal(std::string_view json) {
  std::string out;
  append_escaped(out, json, "\\u%04x", "\n");
  return out;
}

std::string rows_for_terminal(std::string_view rows) {
  std::string out;
  append_escaped(out, utf8::replace_invalid(rows), "\\u{%x}", "\n\t");
  return out;
}

std::vector<std::string_view> graphemes(std::string_view text) {
  std::vector<std::string_view> clusters;
  utf8proc_int32_t state = 0;
  char32_t before = 0;
  std::size_t begin = 0;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t start = position;
    const char32_t c = utf8::next(text, position);
    if (start > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                      static_cast<utf8proc_int32_t>(c), &state)) {
      clusters.push_back(text.substr(begin, start - begin));
      begin = start;
    }
    before = c;
  }
  if (begin < text.size()) clusters.push_back(text.substr(begin));
  return clusters;
}

std::size_t display_width(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; })) return text.size();
  std::size_t width = 0;
  for (const std::string_view cluster : graphemes(text)) width += cluster_width(cluster);
  return width;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string out;
  std::size_t width = 0;
  for (const std::string_view cluster : graphemes(text)) {
    width += cluster_width(cluster);
    if (width + 1 > columns) break;
    out += cluster;
  }
  return out + "…";
}

std::string pad_right(std::string_view text, std::size_t columns) {
  std::string out = fit(text, columns);
  out.append(columns - display_width(out), ' ');
  return out;
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::string fitted = fit(text, columns);
  return std::string(columns - display_width(fitted), ' ') + fitted;
}

}  // namespace mha
