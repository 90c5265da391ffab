#include "io/json.hpp"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <vector>

#include "core/utf8.hpp"

namespace mha {

using nlohmann::json;

namespace {

// Finds what the library accepts but we do not: a key twice in an object, and very deep nesting. (A callback of
// json::parse could do that too, but the library then takes quadratic time for an array of many objects.)
class StrictReader {
 public:
  std::string problem;

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(json::number_integer_t) { return true; }
  bool number_unsigned(json::number_unsigned_t) { return true; }
  bool number_float(json::number_float_t, const std::string&) { return true; }
  bool string(std::string&) { return true; }
  bool binary(json::binary_t&) { return true; }
  bool start_object(std::size_t) { return descend(); }
  bool start_array(std::size_t) { return descend(); }
  bool end_object() { return ascend(); }
  bool end_array() { return ascend(); }

  bool key(std::string& name) {
    if (keys_.back().insert(name).second) return true;
    problem = "duplicate key " + utf8::quoted(name);
    return false;
  }

  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    problem = "not valid JSON: " + json_error_text(error);
    return false;
  }

 private:
  bool descend() {
    keys_.emplace_back();
    if (keys_.size() <= kJsonDepth) return true;
    problem = "nested deeper than " + std::to_string(kJsonDepth) + " levels";
    return false;
  }

  bool ascend() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::unordered_set<std::string>> keys_;  // of the open objects and arrays
};

}  // namespace

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
  // The library reads a NUL byte as the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail("not valid JSON: a NUL byte at byte " + std::to_string(nul));
  }
  StrictReader strict;
  if (!json::sax_parse(text, &strict)) fail(strict.problem);
  return json::parse(text);
}

}  // namespace mha
