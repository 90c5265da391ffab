#include "cli/help.hpp"

#include <algorithm>
#include <string_view>

#include "output/terminal_text.hpp"

namespace mha::cli {
namespace {

constexpr std::size_t kMostColumns = 100;
constexpr std::size_t kHelpColumn = 30;

// Words filled into lines that begin at column `indent`; the first line is already filled up to `used`.
void append_wrapped(std::string& out, std::string_view text, std::size_t used, std::size_t indent,
                    std::size_t columns) {
  bool fresh = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const std::size_t width = display_width(word);
    if (!fresh && used + 1 + width > columns) {
      (out += '\n').append(indent, ' ');
      used = indent;
      fresh = true;
    }
    if (!fresh) {
      out += ' ';
      ++used;
    }
    out += word;
    used += width;
    fresh = false;
    begin = end + 1;
  }
  out += '\n';
}

void append_entry(std::string& out, std::string_view name, std::string_view help, std::size_t columns) {
  const std::size_t column = std::min(kHelpColumn, columns / 2);
  out += "  ";
  out += name;
  std::size_t used = 2 + display_width(name);
  if (used + 2 > column) {
    out += '\n';
    used = 0;
  }
  out.append(column - used, ' ');
  append_wrapped(out, help, column, column, columns);
}

std::string spelled(const OptionSpec& spec) {
  std::string names;
  for (const char c : spec.names) {
    names += c;
    if (c == ',') names += ' ';
  }
  if (names.starts_with("--")) names = "    " + names;
  return spec.value.empty() ? names : names + ' ' + spec.value;
}

void append_options(std::string& out, const OptionList& list, std::size_t columns) {
  std::vector<std::string> groups;
  for (const OptionSpec& spec : list.specs()) {
    if (std::find(groups.begin(), groups.end(), spec.group) == groups.end()) groups.push_back(spec.group);
  }
  for (const std::string& group : groups) {
    ((out += '\n') += group) += ":\n";
    for (const OptionSpec& spec : list.specs()) {
      if (spec.group == group) append_entry(out, spelled(spec), spec.help_line(), columns);
    }
  }
}

void append_help_options(OptionList& list) {
  list.group("Global");
  list.flag("-h,--help", "print this help", [] {});
  list.flag("--version", "print version, backends and CPU features", [] {});
}

}  // namespace

std::string general_help(std::size_t columns, std::string_view family) {
  columns = std::min(columns, kMostColumns);
  std::string out = "Usage: mha-cli " + std::string(family) + "COMMAND [OPTION]… [TEXT]…\n\n";
  append_wrapped(
      out,
      "Runs transformer encoders and shows what multi-head attention does inside them. Results go to standard "
      "output, everything else to standard error.",
      0, 0, columns);
  out += "\nCommands:\n";
  for (const Command* command : commands()) {
    if (!command->hidden && command->name.starts_with(family))
      append_entry(out, command->name, command->summary, columns);
  }
  Options options;
  OptionList list = all_options(options);
  append_help_options(list);
  append_options(out, list, columns);
  out += "\n";
  append_wrapped(out, "More about a command: mha-cli help " + std::string(family) + "COMMAND", 0, 0, columns);
  return out;
}

std::string command_help(const Command& command, std::size_t columns) {
  columns = std::min(columns, kMostColumns);
  std::string out;
  const std::string arguments(command.arguments.empty() ? "" : ' ' + std::string(command.arguments));
  append_wrapped(out, "Usage: mha-cli " + std::string(command.name) + " [OPTION]…" + arguments, 0, 4, columns);
  out += '\n';
  append_wrapped(out, command.about, 0, 0, columns);
  Options options;
  options.command = &command;
  OptionList list = all_options(options);
  append_help_options(list);
  append_options(out, list, columns);
  if (!command.examples.empty()) out += "\nExamples:\n";
  for (const std::string_view example : command.examples) ((out += "  ") += example) += '\n';
  return out;
}

}  // namespace mha::cli
