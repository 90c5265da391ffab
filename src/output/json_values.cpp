#include "output/json_values.hpp"

#include <charconv>
#include <iterator>

#include "core/json_text.hpp"
#include "core/numbers.hpp"
#include "core/utf8.hpp"

namespace mha {
namespace {

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char text[24];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  out.append(text, end);
}

}  // namespace

void append_json_piece(std::string& out, std::string_view text) {
  if (utf8::first_invalid(text) == utf8::kValid) {
    append_json_string(out, text);
  } else {
    append_json_string(out, utf8::replace_invalid(text));
  }
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

void append_nested_array(std::string& out, std::span<const float> values, std::span<const std::size_t> shape,
                         std::optional<int> digits) {
  if (shape.size() == 1) return append_json_array(out, values, digits.value_or(-1));
  out += '[';
  const std::size_t step = shape[0] == 0 ? 0 : values.size() / shape[0];
  for (std::size_t i = 0; i < shape[0]; ++i) {
    if (i > 0) out += ',';
    append_nested_array(out, values.subspan(i * step, step), shape.subspan(1), digits);
  }
  out += ']';
}

}  // namespace mha
