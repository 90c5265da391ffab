#include "serve/json_body.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/nearest.hpp"
#include "core/utf8.hpp"
#include "io/json.hpp"
#include "serve/api_error.hpp"

namespace mha::serve {
namespace {

using nlohmann::json;

[[noreturn]] void fail_json(const std::string& why) { fail(400, "Validation", "body: " + why); }

/// Builds the value while it is read, so that limits hold before memory is taken.
class Builder {
 public:
  json root;
  std::string problem;

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string& text) {
    return std::isfinite(value) ? add(value) : stop("number out of range: " + utf8::printable(text));
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    const auto [place, is_new] = stack_.back()->emplace(std::move(name), nullptr);
    if (!is_new) return stop("key " + utf8::quoted(place.key()) + " stands twice in an object");
    member_ = &*place;
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    return stop("not valid JSON: " + json_error_text(error));
  }

 private:
  bool stop(std::string why) {
    problem = std::move(why);
    return false;
  }

  template <class Value>
  json* place(Value&& value) {
    if (stack_.empty()) {
      root = std::forward<Value>(value);
      return &root;
    }
    if (stack_.back()->is_array()) {
      stack_.back()->push_back(std::forward<Value>(value));
      return &stack_.back()->back();
    }
    *member_ = std::forward<Value>(value);
    return member_;
  }

  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  bool open(json value) {
    if (stack_.size() == kBodyDepth) return stop("nested deeper than " + std::to_string(kBodyDepth) + " levels");
    stack_.push_back(place(std::move(value)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::vector<json*> stack_;  // an element moves only once its siblings are complete
  json* member_ = nullptr;
};

std::string indexed(const std::string& place, std::size_t i) { return place + '[' + std::to_string(i) + ']'; }

std::int32_t read_id(const json& value, const std::string& place) {
  if (!value.is_number_integer()) fail_shape(place, "a token id", kind_of(value));
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::int32_t>::max();
  if (!fits) fail_shape(place, "a token id from 0", value.dump());
  return value.get<std::int32_t>();
}

Input read_input(json& value, const std::string& place) {
  Input input;
  input.place = place;
  if (value.is_string()) {
    input.text = std::move(value.get_ref<std::string&>());
    if (input.text.empty()) fail(400, "Empty", "`" + place + "` cannot be empty", place);
    return input;
  }
  if (!value.is_array()) fail_shape(place, "a string or an array of token ids", kind_of(value));
  if (value.empty()) fail(400, "Empty", "`" + place + "` cannot be empty", place);
  input.is_ids = true;
  for (std::size_t i = 0; i < value.size(); ++i) input.ids.push_back(read_id(value[i], indexed(place, i)));
  return input;
}

}  // namespace

json parse_body(std::string_view text) {
  if (text.empty()) fail_json("expected JSON, got nothing");
  // The library takes a NUL byte for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail_json("not valid JSON: a NUL byte at byte " + std::to_string(nul));
  }
  Builder builder;
  if (!json::sax_parse(text, &builder)) fail_json(builder.problem);
  return std::move(builder.root);
}

std::string kind_of(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string:
      return "a string";
    case json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

Fields::Fields(const json& value, std::string place) : value_(value), place_(std::move(place)) {
  if (!value.is_object())
    fail_shape(place_.empty() ? "body" : place_.substr(0, place_.size() - 1), "an object", kind_of(value));
}

const json* Fields::find(const char* key) {
  read_.emplace_back(key);
  const auto at = value_.find(key);
  return at == value_.end() || at->is_null() ? nullptr : &*at;
}

const json& Fields::require(const char* key, const char* expected) {
  const json* value = find(key);
  if (value == nullptr) fail_shape(place_of(key), expected, "none");
  return *value;
}

std::optional<std::string> Fields::text(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail_shape(place_of(key), "a string", kind_of(*value));
  return value->get<std::string>();
}

std::optional<bool> Fields::flag(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail_shape(place_of(key), "true or false", kind_of(*value));
  return value->get<bool>();
}

std::optional<std::int64_t> Fields::integer(const char* key, std::int64_t least, std::int64_t most) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!value->is_number_integer())
    fail_shape(place_of(key), expected, value->is_number() ? value->dump() : kind_of(*value));
  const bool too_large = value->is_number_unsigned() &&
                         value->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
  if (too_large || value->get<std::int64_t>() < least || value->get<std::int64_t>() > most) {
    fail_shape(place_of(key), expected, value->dump());
  }
  return value->get<std::int64_t>();
}

std::optional<double> Fields::number(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) fail_shape(place_of(key), "a number", kind_of(*value));
  return value->get<double>();
}

std::optional<std::size_t> Fields::choice(const char* key, std::initializer_list<const char*> choices) {
  const auto word = text(key);
  if (!word) return std::nullopt;
  std::string list;
  std::size_t i = 0;
  for (const char* choice : choices) {
    if (*word == choice) return i;
    (list += list.empty() ? "" : ", ") += choice;
    ++i;
  }
  fail_shape(place_of(key), "one of " + list, utf8::quoted(*word));
}

std::vector<std::string> Fields::texts(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) fail_shape(place_of(key), "an array of strings", kind_of(*value));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const json& element = (*value)[i];
    if (!element.is_string()) fail_shape(indexed(place_of(key), i), "a string", kind_of(element));
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> keys;
  for (const auto& member : value_.items()) {
    if (std::find(read_.begin(), read_.end(), member.key()) == read_.end()) keys.push_back(place_ + member.key());
  }
  return keys;
}

void Fields::require_all_read() const {
  const std::vector<std::string> keys = unread();
  if (keys.empty()) return;
  std::string message = utf8::printable(keys[0]) + ": unknown key";
  const auto near = nearest(keys[0], read_);
  if (near) message += "; did you mean " + utf8::quoted(*near) + "?";
  fail(422, "Validation", message, keys[0]);
}

void check_batch_size(std::size_t size, std::size_t most) {
  if (size <= most) return;
  fail(422, "Validation",
       "batch size " + std::to_string(size) + " > maximum allowed batch size " + std::to_string(most));
}

Inputs read_inputs(json& value, const std::string& place, std::size_t most) {
  Inputs inputs;
  const bool is_list = value.is_array() && !value.empty() && !value[0].is_number();
  if (!is_list) {
    inputs.single = true;
    inputs.list.push_back(read_input(value, place));
    return inputs;
  }
  check_batch_size(value.size(), most);
  for (std::size_t i = 0; i < value.size(); ++i) inputs.list.push_back(read_input(value[i], indexed(place, i)));
  return inputs;
}

}  // namespace mha::serve
