#include "io/json_splitter.hpp"

namespace mha {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

JsonSplitter::Next JsonSplitter::find_value(std::string_view text, std::size_t& passed) {
  for (passed = 0; passed < text.size(); ++passed) {
    const char c = text[passed];
    if (is_blank(c)) continue;
    switch (place_) {
      case Place::start:
        if (c != '[') return Next::value;
        place_ = Place::first;
        break;
      case Place::first:
        if (c != ']') return Next::value;
        place_ = Place::closed;
        break;
      case Place::before_value:
        return c == ']' || c == ',' ? Next::wrong : Next::value;
      case Place::behind_value:
        if (c != ',' && c != ']') return Next::wrong;
        place_ = c == ',' ? Place::before_value : Place::closed;
        break;
      case Place::between:
        return c == ']' || c == ',' ? Next::wrong : Next::value;
      case Place::closed:
        return Next::wrong;
    }
  }
  return Next::more;
}

std::size_t JsonSplitter::value_length(std::string_view text, bool at_end) {
  std::size_t length = std::string_view::npos;
  for (; scanned_ < text.size() && length == std::string_view::npos; ++scanned_) {
    const char c = text[scanned_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
        if (depth_ == 0) length = scanned_ + 1;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      if (--depth_ == 0) length = scanned_ + 1;
    } else if (depth_ == 0 && (is_blank(c) || c == ',' || c == ']' || c == '}')) {
      length = scanned_;  // a number or a word has ended
    }
  }
  if (length == std::string_view::npos) {
    if (!at_end) return length;
    length = text.size();
  }
  if (length == 0) length = 1;  // a bracket that closes nothing
  const bool in_array = place_ == Place::first || place_ == Place::before_value;
  place_ = in_array ? Place::behind_value : Place::between;
  scanned_ = depth_ = 0;
  in_string_ = escaped_ = false;
  return length;
}

}  // namespace mha
