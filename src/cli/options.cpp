#include "cli/options.hpp"

#include <algorithm>

#include "cli/command.hpp"

namespace mha::cli {

Format Options::format() const {
  if (output.format) return *output.format;
  if (command->formats.empty()) return Format::table;
  if (!output.to_stdout()) {
    const auto by_ending = format_by_ending(output.file);
    if (by_ending && std::find(command->formats.begin(), command->formats.end(), *by_ending) != command->formats.end())
      return *by_ending;
  }
  return command->formats.front();
}

OptionList all_options(Options& options) {
  OptionList list;
  // What a command declares itself replaces the option of that name in a group.
  const auto add = [&](void (*declare)(OptionList&, Options&)) {
    OptionList declared;
    declare(declared, options);
    list.add_missing(declared);
  };
  if (options.command != nullptr) {
    if (options.command->declare != nullptr) add(options.command->declare);
    for (const OptionGroup* group : options.command->options) add(group->declare);
  }
  add(kGlobal.declare);
  return list;
}

std::string message_of(const Error& error) {
  if (error.parameter().empty()) return error.what();
  std::string option = "--" + error.parameter();
  std::replace(option.begin(), option.end(), '_', '-');
  return option + ": " + std::string(error.message());
}

void check_options(const Options& options) {
  for (const OptionGroup* group : options.command->options) {
    if (group->check != nullptr) group->check(options);
  }
  if (options.command->check != nullptr) options.command->check(options);
}

}  // namespace mha::cli
