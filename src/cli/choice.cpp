#include "cli/choice.hpp"

#include <charconv>

#include "core/nearest.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {

void refuse_choice(std::string_view option, std::string_view got, std::span<const std::string> choices) {
  std::string message = std::string(option) + ": expected one of ";
  for (std::size_t i = 0; i < choices.size(); ++i) (message += i == 0 ? "" : ", ") += choices[i];
  ((message += ", got \"") += got) += '"';
  if (const auto near = nearest(got, choices)) message += "; did you mean \"" + *near + "\"?";
  throw_usage(message);
}

std::size_t parse_count(std::string_view option, std::string_view text, std::size_t least, std::size_t most) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    throw_usage(std::string(option) + ": expected a whole number of at least " + std::to_string(least) + ", got \"" +
                std::string(text) + '"');
  }
  if (value > most) {
    throw_usage(std::string(option) + ": expected at most " + std::to_string(most) + ", got " + std::string(text));
  }
  return value;
}

std::vector<std::string> parse_list(std::string_view option, std::string_view text) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      items.emplace_back();
    } else {
      const bool escaped = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
      items.back() += text[escaped ? ++i : i];
    }
  }
  for (const std::string& item : items) {
    if (item.empty()) throw_usage(std::string(option) + ": expected a list such as a,b, got an empty item");
  }
  return items;
}

void require_named(std::string_view option, std::string_view value) {
  if (value.empty()) throw_usage(std::string(option) + ": expected a name, got an empty one");
}

}  // namespace mha::cli
