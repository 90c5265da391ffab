#include "model/json_fields.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "mha/core/error.hpp"

namespace mha {

JsonFields::JsonFields(const nlohmann::json& object, std::string what, std::string origin)
    : object_(object), what_(std::move(what)), origin_(std::move(origin)) {
  if (!object_.is_object()) {
    throw_model(what_ + ": " + origin_ + ": expected a JSON object, got " + json_excerpt(object_));
  }
}

const nlohmann::json* JsonFields::find(std::string_view key) const {
  read_.emplace(key);
  const auto entry = object_.find(key);
  return entry == object_.end() || entry->is_null() ? nullptr : &*entry;
}

bool JsonFields::has(std::string_view key) const { return find(key) != nullptr; }

std::vector<std::string> JsonFields::keys() const {
  std::vector<std::string> names;
  for (const auto& entry : object_.items()) names.push_back(entry.key());
  return names;
}

const nlohmann::json& JsonFields::at(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) fail_text(key, "expected a value, found none");
  return *value;
}

std::optional<std::size_t> JsonFields::size(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned() || (value->is_number_integer() && value->get<std::int64_t>() >= 0)) {
    return std::min(static_cast<std::size_t>(value->get<std::uint64_t>()), kUnlimited);
  }
  if (value->is_number_float()) {
    const double number = value->get<double>();
    if (number >= static_cast<double>(kUnlimited)) return kUnlimited;
  }
  fail(key, "a whole number");
}

std::optional<bool> JsonFields::flag(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) fail(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) fail(key, "a text");
  return value->get<std::string>();
}

void JsonFields::harmless(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) read_.emplace(key);
}

void JsonFields::only_flag(std::string_view key, bool value) const {
  if (const auto got = flag(key); got && *got != value)
    fail(key, std::string(value ? "true" : "false") + " (other values are not implemented)");
}

void JsonFields::only_text(std::string_view key, std::string_view value) const {
  if (const auto got = text(key); got && *got != value)
    fail(key, "\"" + std::string(value) + "\" (other values are not implemented)");
}

std::vector<std::string> JsonFields::unread() const {
  std::vector<std::string> left;
  for (const auto& entry : object_.items()) {
    if (!entry.value().is_null() && !read_.contains(entry.key())) left.push_back(entry.key());
  }
  return left;
}

void JsonFields::fail(std::string_view key, const std::string& expected) const {
  const nlohmann::json* value = find(key);
  fail_text(key, "expected " + expected + ", got " + (value == nullptr ? "nothing" : json_excerpt(*value)));
}

void JsonFields::fail_text(std::string_view key, const std::string& message) const {
  throw_model(what_ + ": " + origin_ + ": " + std::string(key) + ": " + message);
}

std::string json_excerpt(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_object() && value.size() > 4) return "an object";
  if (value.is_array() && value.size() > 4) return "an array of " + std::to_string(value.size());
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

}  // namespace mha
