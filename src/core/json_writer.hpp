#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/json_text.hpp"
#include "core/numbers.hpp"
#include "core/utf8.hpp"

namespace mha {

/// Appends JSON to a text, member by member, in the order of the calls; puts the commas. The caller closes what it
/// opens. Numbers that are not finite are an internal error.
class JsonWriter {
 public:
  /// `digits`: places after the point of every floating-point number; empty: the shortest text that reads back to the
  /// same float32.
  explicit JsonWriter(std::string& out, std::optional<int> digits = std::nullopt)
      : out_(out), begin_(out.size()), digits_(digits) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    text(name);
    out_ += ':';
    return *this;
  }
  /// Malformed UTF-8 becomes U+FFFD.
  JsonWriter& text(std::string_view value) {
    separate();
    if (utf8::first_invalid(value) == utf8::kValid) {
      append_json_string(out_, value);
    } else {
      append_json_string(out_, utf8::replace_invalid(value));
    }
    return *this;
  }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonWriter& number(Integer value) {
    separate();
    char digits[24];
    const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), value);
    out_.append(digits, end);
    return *this;
  }
  JsonWriter& number(float value) { return number(value, digits_); }
  JsonWriter& number(float value, std::optional<int> digits) {
    separate();
    digits ? append_float(out_, value, *digits) : append_float(out_, value);
    return *this;
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  /// A value, or members, that are JSON text already.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }
  /// `values` as nested arrays; the product of `shape` is their number.
  JsonWriter& numbers(std::span<const float> values, std::span<const std::size_t> shape) {
    return numbers(values, shape, digits_);
  }
  JsonWriter& numbers(std::span<const float> values, std::span<const std::size_t> shape, std::optional<int> digits) {
    if (shape.size() == 1) {
      separate();
      append_json_array(out_, values, digits.value_or(-1));
      return *this;
    }
    begin_array();
    const std::size_t step = shape[0] == 0 ? 0 : values.size() / shape[0];
    for (std::size_t i = 0; i < shape[0]; ++i) numbers(values.subspan(i * step, step), shape.subspan(1), digits);
    return end_array();
  }

  JsonWriter& member(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& member(std::string_view name, const char* value) { return key(name).text(value); }
  JsonWriter& member(std::string_view name, bool value) { return key(name).boolean(value); }
  template <class Number>
  requires(std::integral<Number> || std::same_as<Number, float>) JsonWriter& member(std::string_view name,
                                                                                    Number value) {
    return key(name).number(value);
  }
  /// An array whose entries `append` writes.
  template <class Values, class Append>
  JsonWriter& list(const Values& values, Append append) {
    begin_array();
    for (const auto& value : values) append(value);
    return end_array();
  }

 private:
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    return *this;
  }
  // The last byte tells whether a value stands before this one: inside a string it would be a quote.
  void separate() {
    if (out_.size() == begin_) return;
    const char last = out_.back();
    if (last != '{' && last != '[' && last != ':') out_ += ',';
  }

  std::string& out_;
  std::size_t begin_;
  std::optional<int> digits_;
};

}  // namespace mha
