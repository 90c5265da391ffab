#include "io/input.hpp"

#include <utility>

namespace mha {
namespace {

bool is_argument(const Input& input) { return input.source && *input.source == "argument"; }

std::string line_of(const Input& input) {
  if (!input.source) return "input " + std::to_string(input.index);
  if (input.line == 0) return *input.source;
  if (is_argument(input)) return "argument " + std::to_string(input.line);
  return *input.source + ": " + input.line_word + " " + std::to_string(input.line);
}

}  // namespace

std::string Input::place() const {
  return !source || line == 0 || is_argument(*this) ? line_of(*this) : place_at(begin);
}

std::string Input::place_at(std::uint64_t byte) const { return line_of(*this) + ", byte " + std::to_string(byte); }

void Input::set_place(std::string place) {
  source = std::make_shared<const std::string>(std::move(place));
  line = 0;
}

void Input::fail(std::string_view why) { (error = place() + ": ") += why; }

void Input::clear() {
  index = 0;
  id_json.clear();
  text.clear();
  text_pair.reset();
  extra_json.clear();
  error.clear();
  replaced.reset();
  source.reset();
  line = 0;
  begin = 0;
  line_word = "line";
}

}  // namespace mha
