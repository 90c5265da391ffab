#include "cli/options/option_list.hpp"

#include <algorithm>

#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

// "a, b or c"
std::string spoken_list(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    parts.emplace_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string OptionSpec::help_line() const {
  std::string line = help;
  if (!choices.empty()) line += ": " + spoken_list(choices, kind == ValueKind::list ? ", " : " or ");
  if (!standard.empty()) line += " (default " + standard + ")";
  if (repeatable) line += " (repeatable)";
  return line;
}

OptionSpec& OptionList::flag(std::string names, std::string help, std::function<void()> set) {
  OptionSpec spec;
  spec.names = std::move(names);
  spec.help = std::move(help);
  spec.group = group_;
  spec.set = [set = std::move(set)](const std::string&) { set(); };
  specs_.push_back(std::move(spec));
  return specs_.back();
}

OptionSpec& OptionList::value(std::string names, std::string value, std::string help, ValueKind kind, Set set) {
  OptionSpec spec;
  spec.names = std::move(names);
  spec.value = std::move(value);
  spec.help = std::move(help);
  spec.group = group_;
  spec.kind = kind;
  spec.set = std::move(set);
  specs_.push_back(std::move(spec));
  return specs_.back();
}

OptionSpec& OptionList::named(std::string names, std::string value, std::string help, ValueKind kind,
                              std::string& target) {
  std::string option = long_name(names);
  return this->value(std::move(names), std::move(value), std::move(help), kind,
                     [&target, option = std::move(option)](const std::string& name) {
                       require_named(option, name);
                       target = name;
                     });
}

OptionSpec& OptionList::list(std::string names, std::string value, std::string help, std::vector<std::string> choices,
                             Set set) {
  OptionSpec& spec = this->value(std::move(names), std::move(value), std::move(help), ValueKind::list, std::move(set));
  spec.choices = std::move(choices);
  return spec;
}

const OptionSpec* OptionList::find(std::string_view name) const {
  for (const OptionSpec& spec : specs_) {
    for (const std::string& part : split_names(spec.names)) {
      if (part == name) return &spec;
    }
  }
  return nullptr;
}

void OptionList::add_missing(const OptionList& other) {
  for (const OptionSpec& spec : other.specs_) {
    if (find(spec.long_name()) == nullptr) specs_.push_back(spec);
  }
}

}  // namespace mha::cli
