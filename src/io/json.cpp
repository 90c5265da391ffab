#include "io/json.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "mha/core/utf8.hpp"

namespace mha {

using nlohmann::json;

std::string json_error_text(const std::exception& error) {
  std::string text = error.what();
  if (const std::size_t tag = text.find("] "); tag != std::string::npos) text.erase(0, tag + 2);
  if (const std::size_t rest = text.find("; last read"); rest != std::string::npos) text.erase(rest);
  return utf8::printable(text);
}

json parse_json(std::string_view text, const std::string& subject, ErrorKind kind) {
  const auto fail = [&](const std::string& why) { throw Error(kind, subject + ": " + why); };
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (text.empty()) fail("expected JSON, got an empty file");
  // The library takes a NUL byte for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail("not valid JSON: a NUL byte at byte " + std::to_string(nul));
  }
  std::vector<std::unordered_set<std::string>> keys;
  const auto check = [&](int, json::parse_event_t event, json& value) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (keys.size() >= kJsonDepth) fail("nested deeper than " + std::to_string(kJsonDepth) + " levels");
        keys.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key:
        if (!keys.back().insert(value.get_ref<const std::string&>()).second) {
          fail("duplicate key " + utf8::quoted(value.get_ref<const std::string&>()));
        }
        break;
      case json::parse_event_t::value:
        break;
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    throw Error(kind, subject + ": not valid JSON: " + json_error_text(error));
  }
}

}  // namespace mha
