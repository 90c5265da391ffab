#include "output/json_text.hpp"

#include <charconv>
#include <iterator>

#include "mha/core/numbers.hpp"
#include "mha/core/utf8.hpp"

namespace mha {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, plain, i - plain);
    plain = i + 1;
    out += '\\';
    switch (c) {
      case '"':
      case '\\': out += static_cast<char>(c); break;
      case '\b': out += 'b'; break;
      case '\f': out += 'f'; break;
      case '\n': out += 'n'; break;
      case '\r': out += 'r'; break;
      case '\t': out += 't'; break;
      default:
        out += "u00";
        out += kHex[c >> 4];
        out += kHex[c & 0xF];
    }
  }
  out.append(text, plain);
}

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char text[24];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  out.append(text, end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (utf8::first_invalid(text) == utf8::kValid) {
    append_escaped(out, text);
  } else {
    append_escaped(out, utf8::replace_invalid(text));
  }
  out += '"';
}

void append_number(std::string& out, float value, std::optional<int> digits) {
  if (digits) {
    append_float(out, value, *digits);
  } else {
    append_float(out, value);
  }
}

void append_number(std::string& out, std::size_t value) { append_integer(out, value); }
void append_number(std::string& out, std::int32_t value) { append_integer(out, value); }

void append_json_array(std::string& out, std::span<const float> values, std::span<const std::size_t> shape,
                       std::optional<int> digits) {
  out += '[';
  if (shape.size() == 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ',';
      append_number(out, values[i], digits);
    }
  } else {
    const std::size_t step = shape[0] == 0 ? 0 : values.size() / shape[0];
    for (std::size_t i = 0; i < shape[0]; ++i) {
      if (i > 0) out += ',';
      append_json_array(out, values.subspan(i * step, step), shape.subspan(1), digits);
    }
  }
  out += ']';
}

}  // namespace mha
