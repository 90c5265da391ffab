#include "core/json_text.hpp"

#include <algorithm>
#include <cstddef>

#include "core/numbers.hpp"

namespace mha {
namespace {

constexpr std::size_t kTypicalBytes = 14;  // of one float and its comma

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, copied, i - copied);
    copied = i + 1;
    switch (text[i]) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        out += "\\u00";
        out += kHex[byte >> 4];
        out += kHex[byte & 0xFU];
    }
  }
  out.append(text, copied);
  out += '"';
}

void append_json_array(std::string& out, std::span<const float> values, int digits) {
  // Room for typical numbers at once: growing step by step costs as much as making the digits.
  out.reserve(std::max(out.capacity(), out.size() + values.size() * kTypicalBytes + 2));
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    digits < 0 ? append_float(out, values[i]) : append_float(out, values[i], digits);
  }
  out += ']';
}

}  // namespace mha
