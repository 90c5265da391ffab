#include "cli/manual.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/help.hpp"

namespace mha::cli {
namespace {

struct Variable {
  const char* name;
  const char* meaning;
};

// What the program reads from its environment.
constexpr Variable kEnvironment[] = {
    {"MHA_MODEL", "The model if there is no --model."},
    {"MHA_MODEL_PATH", "Folders in which models are looked up by name, separated by colons."},
    {"MHA_CPU",
     "The CPU levels that may be used, such as \"avx2\". Empty: none beyond what the program was built for."},
    {"HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME", "Where the Hugging Face cache is."},
    {"NO_COLOR, COLORTERM, TERM", "Whether and how colours are shown with --color auto."},
    {"COLUMNS", "The width of tables; else that of the terminal, else 80."},
    {"TMPDIR", "Where temporary files of arrays go that are written to a pipe; else /tmp."},
};

constexpr Variable kExitCodes[] = {
    {"0", "Done."},          {"1", "An input could not be processed, or the output could not be written."},
    {"2", "Wrong usage."},   {"3", "The model could not be loaded."},
    {"130", "Interrupted."},
};

// What roff would read as an escape or a hyphen of its own is protected.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

// A line of a page, which is no request whatever it begins with.
std::string plain(std::string_view text) {
  const std::string out = escaped(text);
  return (out.starts_with('.') || out.starts_with('\'') ? "\\&" : "") + out;
}

// An argument of a macro, in quotes.
std::string argument(std::string_view text) {
  std::string out = "\"";
  for (const char c : plain(text)) out += c == '"' ? std::string("\\(dq") : std::string(1, c);
  return out + '"';
}

/// A page under construction. Roff wants each sentence on a line of its own, and lines that are not too long.
class Page {
 public:
  explicit Page(const std::string& name) {
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    out_ = ".TH " + argument(title) + " 1 " + "\"" + release_date() + "\"" + " " +
           argument("mha-cli " + version_number()) + " \"User Commands\"\n";
  }

  void section(std::string_view title) { out_ += ".SH " + argument(title) + "\n"; }
  void subsection(std::string_view title) { out_ += ".SS " + argument(title) + "\n"; }
  void text(std::string_view words) {
    constexpr std::size_t kLine = 78;  // bytes
    std::string line;
    const auto flush = [&] {
      if (!line.empty()) out_ += (line.front() == '.' || line.front() == '\'' ? "\\&" : "") + line + "\n";
      line.clear();
    };
    for (std::size_t begin = 0; begin < words.size();) {
      const std::size_t end = std::min(words.find(' ', begin), words.size());
      const std::string word = escaped(words.substr(begin, end - begin));
      if (line.size() + 1 + word.size() > kLine) flush();
      (line += line.empty() ? "" : " ") += word;
      if (word.ends_with('.')) flush();
      begin = end + 1;
    }
    flush();
  }
  /// A name in bold with the value in italics, then what it does.
  void entry(const std::string& names, const std::string& value, std::string_view meaning) {
    out_ += ".TP\n";
    std::string tag = "\\fB" + plain(names) + "\\fR";
    if (!value.empty()) tag += " \\fI" + plain(value) + "\\fR";
    out_ += tag + "\n";
    text(meaning);
  }
  /// Lines as they are, with room between them.
  void examples(const std::vector<std::string_view>& commands) {
    out_ += ".RS\n.nf\n";
    for (std::size_t i = 0; i < commands.size(); ++i) out_ += (i > 0 ? ".sp\n" : "") + plain(commands[i]) + "\n";
    out_ += ".fi\n.RE\n";
  }
  void raw(const std::string& roff) { out_ += roff; }
  std::string done() const { return out_; }

 private:
  std::string out_;
};

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  if (!text.ends_with('.')) text += '.';
  return text;
}

void add_options(Page& page, const Command* command) {
  Options options;
  options.command = command;
  OptionList list = all_options(options);
  list.group("Global");
  list.flag("-h,--help", "print help", [] {});
  list.flag("--version", "print version, backends and CPU features", [] {});
  std::vector<std::string> groups;
  for (const OptionSpec& spec : list.specs()) {
    if (std::find(groups.begin(), groups.end(), spec.group) == groups.end()) groups.push_back(spec.group);
  }
  page.section("OPTIONS");
  for (const std::string& group : groups) {
    page.subsection(group);
    for (const OptionSpec& spec : list.specs()) {
      if (spec.group != group) continue;
      std::string names;
      for (const char c : spec.names) names += c == ',' ? std::string(", ") : std::string(1, c);
      std::string meaning = sentence(spec.help_line());
      if (!spec.details.empty()) meaning += ' ' + spec.details;
      page.entry(names, spec.value, meaning);
    }
  }
}

void add_exit_codes(Page& page) {
  page.section("EXIT STATUS");
  for (const auto& [code, meaning] : kExitCodes) page.entry(code, "", meaning);
}

void add_see_also(Page& page, const Command* command) {
  page.section("SEE ALSO");
  std::vector<std::string> names;
  if (command != nullptr) names.push_back(manual_name(nullptr));
  for (const Command* other : commands()) {
    if (other != command && !other->hidden) names.push_back(manual_name(other));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    page.raw(".BR " + plain(names[i]) + " (1)" + (i + 1 < names.size() ? " ,\n" : "\n"));
  }
}

std::string program_page() {
  Page page("mha-cli");
  page.section("NAME");
  page.raw("mha\\-cli \\-\n");
  page.text("transformer encoders, and what multi-head attention does inside them");
  page.section("SYNOPSIS");
  page.raw(".B mha\\-cli\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fITEXT\\fR]...\n");
  page.section("DESCRIPTION");
  page.text(
      "Runs transformer encoders and shows what multi-head attention does inside them. Results go to standard output, "
      "everything else to standard error. A TEXT is one input; without TEXT, inputs are read from standard input, one "
      "per line. A single - stands for standard input. What follows -- is TEXT.");
  page.section("COMMANDS");
  for (const Command* command : commands()) {
    if (command->hidden) continue;
    page.entry(std::string(command->name), std::string(command->arguments), sentence(std::string(command->summary)));
  }
  add_options(page, nullptr);
  page.section("ENVIRONMENT");
  for (const auto& [name, meaning] : kEnvironment) page.entry(name, "", meaning);
  add_exit_codes(page);
  add_see_also(page, nullptr);
  return page.done();
}

}  // namespace

std::string manual_name(const Command* command) {
  if (command == nullptr) return "mha-cli";
  std::string name = "mha-cli-" + std::string(command->name);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const Command* command) {
  if (command == nullptr) return program_page();
  Page page(manual_name(command));
  page.section("NAME");
  page.raw(plain(manual_name(command)) + " \\-\n");
  page.text(command->summary);
  page.section("SYNOPSIS");
  page.raw(".B mha\\-cli " + plain(command->name) + "\n[\\fIOPTION\\fR]...");
  if (!command->arguments.empty()) page.raw(" \\fI" + plain(command->arguments) + "\\fR");
  page.raw("\n");
  page.section("DESCRIPTION");
  page.text(command->about);
  add_options(page, command);
  if (!command->examples.empty()) {
    page.section("EXAMPLES");
    page.examples(command->examples);
  }
  add_exit_codes(page);
  add_see_also(page, command);
  return page.done();
}

}  // namespace mha::cli
