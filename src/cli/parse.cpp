// The one place that knows CLI11. It only tells options from texts here: values are read by the setters of OptionList.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "core/nearest.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

constexpr const char* kUsage = "Usage: mha-cli COMMAND [OPTION]… [TEXT]…; see 'mha-cli --help'";

std::string see_help(std::string_view command) {
  return "; see 'mha-cli " + std::string(command) + (command.empty() ? "" : " ") + "--help'";
}

std::string suggestion(std::string_view got, const std::vector<std::string>& candidates, std::string_view command) {
  const auto near = nearest(got, candidates);
  return near ? "; did you mean \"" + *near + "\"?" : see_help(command);
}

bool looks_like_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

/// The command line cut where CLI11 would misread it: texts behind `--`, and `--name=` with an empty value, which it
/// would fill with the next word.
struct Words {
  std::vector<std::string> before;
  std::vector<std::string> after;
};

Words split_words(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      words.after.assign(argv + i + 1, argv + argc);
      break;
    }
    if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1) {
      words.before.push_back(word.substr(0, word.size() - 1));
      words.before.emplace_back();
    } else {
      words.before.push_back(word);
    }
  }
  return words;
}

/// An option as it was given. It is set once the command is known: the same name may mean another thing there.
struct Given {
  std::string name;
  std::string value;
};

/// Tells options from texts by the names in a list; keeps both in the order in which they stood.
class WordParser {
 public:
  explicit WordParser(const OptionList& list) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const OptionSpec& spec : list.specs()) add(spec);
    add_flag("-h,--help", help);
    add_flag("--version", version);
  }

  /// All words from the first that is no option on are left in `rest`.
  void stop_at_first_text() { app_.prefix_command(); }

  void parse(const std::vector<std::string>& words, std::string_view command) {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    try {
      app_.parse(reversed);
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string text = error.what();
      throw_usage(text.substr(0, text.find(':')) + ": expected a value, got none" + see_help(command));
    } catch (const CLI::ParseError& error) {
      throw_usage(error.what() + see_help(command));
    }
    rest = app_.remaining();
  }

  std::vector<Given> given;
  std::vector<std::string> rest;
  bool help = false;
  bool version = false;

 private:
  void add(const OptionSpec& spec) {
    const std::string name(spec.long_name());
    if (spec.value.empty()) {
      app_.add_flag_function(spec.names, [this, name](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) given.push_back({name, ""});
      });
      return;
    }
    // Every given value is kept, in order: the last one wins, lists grow.
    const auto keep_all = [this, name](const std::vector<std::string>& values) {
      for (const std::string& value : values) given.push_back({name, value});
    };
    app_.add_option_function<std::vector<std::string>>(spec.names, keep_all)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void add_flag(const char* names, bool& target) {
    app_.add_flag_callback(names, [&target] { target = true; });
  }

  CLI::App app_;
};

/// The words that may follow what stands already: commands, or with "model " what that can do.
std::vector<std::string> command_words(std::string_view family) {
  std::vector<std::string> words;
  for (const Command* command : commands()) {
    if (command->hidden || !command->name.starts_with(family)) continue;
    const std::string_view rest = command->name.substr(family.size());
    std::string word(rest.substr(0, rest.find(' ')));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(std::move(word));
  }
  if (family.empty()) words.emplace_back("help");
  return words;
}

const Command* command_named(std::string_view name) {
  for (const Command* command : commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

bool is_family(std::string_view name) {
  const std::string beginning = std::string(name) + ' ';
  return std::any_of(commands().begin(), commands().end(),
                     [&](const Command* command) { return command->name.starts_with(beginning); });
}

/// `family`: "" or "model ".
[[noreturn]] void refuse_command(std::string_view family, const std::string& got) {
  const std::vector<std::string> words = command_words(family);
  std::string list;
  for (const std::string& word : words) (list += list.empty() ? "" : ", ") += word;
  const std::string expected = std::string(family) + "command: expected one of " + list + ", got ";
  if (got.empty()) throw_usage(expected + "none\n" + kUsage);
  throw_usage(expected + '"' + got + '"' + suggestion(got, words, family.substr(0, family.find(' '))));
}

[[noreturn]] void refuse_option(const OptionList& known, std::string_view command, const std::string& got) {
  const std::string name = got.substr(0, got.find('='));
  std::vector<std::string> names{"--help", "--version"};
  for (const OptionSpec& spec : known.specs()) names.emplace_back(spec.long_name());
  throw_usage((command.empty() ? "" : std::string(command) + ": ") + "unknown option " + name +
              suggestion(name, names, command));
}

/// Options that a command takes are not dropped where only the global ones are expected.
[[noreturn]] void refuse_early_option(const OptionList& global, const std::vector<std::string>& words) {
  const std::string name = words[0].substr(0, words[0].find('='));
  for (const std::string& word : words) {
    Options options;
    options.command = command_named(word);
    if (options.command == nullptr || all_options(options).find(name) == nullptr) continue;
    throw_usage(name + ": expected behind the command, got before it; write mha-cli " + word + " … " + name);
  }
  refuse_option(global, "", words[0]);
}

/// Reads the command line from left to right: global options, the command, its options and texts.
class Parser {
 public:
  std::optional<Options> parse(int argc, char** argv) {
    const Words words = split_words(argc, argv);
    if (words.before.empty()) throw_usage(std::string("command: expected one, got none\n") + kUsage);
    std::vector<std::string> rest = words.before;
    std::string name;
    while (options_.command == nullptr) {
      take_global(rest);
      if (version_) return print(version_text());
      if (!rest.empty() && looks_like_option(rest[0])) refuse_early(rest);
      if (!rest.empty() && rest[0] == "help") return print_help(name, {rest.begin() + 1, rest.end()});
      if (help_) return print_help(name, rest);
      const std::string family = name.empty() ? "" : name + ' ';
      if (rest.empty()) refuse_command(family, "");
      name = family + rest[0];
      options_.command = command_named(name);
      if (options_.command == nullptr && !is_family(name)) refuse_command(family, rest[0]);
      rest.erase(rest.begin());
      // `index` is a command, and `index stats` another one.
      if (options_.command == nullptr || rest.empty()) continue;
      if (const Command* longer = command_named(name + ' ' + rest[0])) {
        options_.command = longer;
        rest.erase(rest.begin());
      }
    }
    return parse_command(rest, words.after);
  }

 private:
  // Global options at the front of the words, up to the first that is none.
  void take_global(std::vector<std::string>& rest) {
    WordParser parser(global_);
    parser.stop_at_first_text();
    parser.parse(rest, "");
    given_.insert(given_.end(), parser.given.begin(), parser.given.end());
    help_ = help_ || parser.help;
    version_ = version_ || parser.version;
    rest = std::move(parser.rest);
  }

  [[noreturn]] void refuse_early(const std::vector<std::string>& rest) const { refuse_early_option(global_, rest); }

  std::optional<Options> parse_command(const std::vector<std::string>& rest, const std::vector<std::string>& texts) {
    const Command& command = *options_.command;
    const OptionList list = all_options(options_);
    WordParser parser(list);
    parser.parse(rest, command.name);
    if (parser.version) return print(version_text());
    if (help_ || parser.help) return print(command_help(command, terminal_columns(STDOUT_FILENO)));
    for (const std::string& word : parser.rest) {
      if (looks_like_option(word)) refuse_option(list, command.name, word);
    }
    given_.insert(given_.end(), parser.given.begin(), parser.given.end());
    for (const Given& given : given_) {
      list.find(given.name)->set(given.value);
      options_.given.emplace_back(given.name, given.value);
    }
    options_.input.texts = std::move(parser.rest);
    const std::size_t plain = options_.input.texts.size();  // what stands behind -- is never a name
    options_.input.texts.insert(options_.input.texts.end(), texts.begin(), texts.end());
    if (command.takes_query) take_query();
    if (options_.input.texts == std::vector<std::string>{"-"} && texts.empty() && plain > 0 &&
        list.find("--input") != nullptr) {
      options_.input.texts.clear();
      options_.input.files.emplace_back("-");
    }
    return std::move(options_);
  }

  // The first text is what is looked for in the others.
  void take_query() {
    std::vector<std::string>& texts = options_.input.texts;
    if (texts.empty()) {
      throw_usage(std::string(options_.command->name) + ": expected " + std::string(options_.command->arguments) +
                  ", got none" + see_help(options_.command->name));
    }
    options_.query = std::move(texts.front());
    texts.erase(texts.begin());
  }

  /// `help`, `help embed`, `help model`, `help model info`.
  static std::optional<Options> print_help(const std::string& family, const std::vector<std::string>& words) {
    const std::size_t columns = terminal_columns(STDOUT_FILENO);
    std::string name = family;
    for (const std::string& word : words) {
      if (looks_like_option(word)) continue;
      const std::string beginning = name.empty() ? "" : name + ' ';
      name = beginning + word;
      if (const Command* command = command_named(name)) return print(command_help(*command, columns));
      if (!is_family(name)) refuse_command(beginning, word);
    }
    return print(general_help(columns, name.empty() ? "" : name + ' '));
  }

  static std::optional<Options> print(const std::string& text) {
    OutputStream out("-");
    out.write(text);
    out.commit();
    return std::nullopt;
  }

  Options options_;
  const OptionList global_ = all_options(options_);  // there is no command yet
  std::vector<Given> given_;
  bool help_ = false;
  bool version_ = false;
};

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  std::optional<Options> options = Parser().parse(argc, argv);
  if (options) check_options(*options);
  return options;
}

}  // namespace mha::cli
