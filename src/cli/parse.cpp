// The one place that knows CLI11. It only tells options from texts here: values are read by the setters of OptionList.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "cli/choice.hpp"
#include "cli/declare.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "core/nearest.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

// What to read about the program or one of its commands.
std::string see_help(const std::string& command) {
  return "; see 'mha-cli " + command + (command.empty() ? "" : " ") + "--help'";
}

void print(const std::string& text) {
  OutputStream out("-");
  out.write(text);
  out.commit();
}

void attach(CLI::App& app, const OptionList& list) {
  for (const OptionSpec& spec : list.specs()) {
    if (spec.value.empty()) {
      const auto count = [set = spec.set](std::int64_t times) {
        for (std::int64_t i = 0; i < times; ++i) set("");
      };
      app.add_flag_function(spec.names, count, spec.help);
    } else {
      // Every given value is set, in order: the last one wins, lists grow.
      const auto set_all = [set = spec.set](const std::vector<std::string>& values) {
        for (const std::string& value : values) set(value);
      };
      app.add_option_function<std::vector<std::string>>(spec.names, set_all, spec.help)
          ->expected(1)
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
}

std::string suggestion(std::string_view got, const std::vector<std::string>& candidates, const std::string& command) {
  const auto near = nearest(got, candidates);
  return near ? "; did you mean \"" + *near + "\"?" : see_help(command);
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& got) {
  const std::string name = got.substr(0, got.find('='));
  const std::string where = app.get_name().empty() ? "mha-cli" : app.get_name();
  throw_usage(where + ": unknown option " + name + suggestion(name, long_names(app), app.get_name()));
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

/// The tree of CLI11 apps: the program, its commands, and `model` with commands of its own.
class Parser {
 public:
  Parser() {
    root_.name("");
    prepare(root_);
    for (const Command* command : commands()) {
      CLI::App& app = *app_for(command->name);
      // Only the command that is there gets its options: CLI11 takes longer to learn them than most runs last.
      app.preparse_callback([this, command, &app](std::size_t) {
        prepare(app);
        attach(app, command_options(*command, options_));
      });
      apps_.emplace_back(command, &app);
    }
  }

  std::optional<Options> parse(int argc, char** argv) {
    Words words = split_words(argc, argv);
    if (words.before.empty()) throw_usage("command: expected one, got none\n" + general_usage());
    std::vector<std::string> reversed(words.before.rbegin(), words.before.rend());
    try {
      root_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      refuse(error);
    }
    const auto chosen = std::find_if(apps_.begin(), apps_.end(), [](const auto& app) { return app.second->parsed(); });
    const CLI::App& app = chosen == apps_.end() ? deepest() : *chosen->second;
    if (version_) {
      print(version_text());
      return std::nullopt;
    }
    std::vector<std::string> rest = app.remaining();
    if (help_ || (chosen == apps_.end() && !rest.empty() && rest[0] == "help")) {
      print_help(chosen == apps_.end() ? nullptr : chosen->first, rest);
      return std::nullopt;
    }
    for (const std::string& word : rest) {
      if (looks_like_option(word)) refuse_option(app, word);
    }
    if (chosen == apps_.end()) refuse_command(app, rest);
    options_.command = chosen->first;
    options_.input.texts = std::move(rest);
    options_.input.texts.insert(options_.input.texts.end(), words.after.begin(), words.after.end());
    if (options_.command->has(kQuery)) take_query();
    return std::move(options_);
  }

 private:
  // The first text is what the others are looked at for.
  void take_query() {
    std::vector<std::string>& texts = options_.input.texts;
    if (texts.empty()) {
      const std::string name(options_.command->name);
      throw_usage(name + ": expected " + std::string(options_.command->arguments) + ", got none" + see_help(name));
    }
    options_.task.query = std::move(texts.front());
    texts.erase(texts.begin());
  }

  void prepare(CLI::App& app) {
    app.set_help_flag();
    app.allow_extras();
    app.require_subcommand(0, 1);
    attach(app, global_options(options_));
    app.add_flag_callback("-h,--help", [this] { help_ = true; });
    app.add_flag_callback("--version", [this] { version_ = true; });
  }

  CLI::App* app_for(std::string_view name) {
    const std::size_t blank = name.find(' ');
    if (blank == std::string_view::npos) return root_.add_subcommand(std::string(name));
    const std::string family(name.substr(0, blank));
    auto [place, is_new] = families_.try_emplace(family, nullptr);
    if (is_new) {
      place->second = root_.add_subcommand(family);
      place->second->preparse_callback([this, app = place->second](std::size_t) { prepare(*app); });
    }
    return place->second->add_subcommand(std::string(name.substr(blank + 1)));
  }

  const CLI::App& deepest() const {
    for (const auto& [name, app] : families_) {
      if (app->parsed()) return *app;
    }
    return root_;
  }

  [[noreturn]] void refuse(const CLI::ParseError& error) const {
    const std::string text = error.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
      throw_usage(text.substr(0, text.find(':')) + ": expected a value, got none" + see_help(""));
    }
    throw_usage(text + see_help(""));
  }

  [[noreturn]] void refuse_command(const CLI::App& app, const std::vector<std::string>& rest) const {
    const std::string family = app.get_name().empty() ? "" : app.get_name() + ' ';
    std::vector<std::string> names;
    std::string list;
    for (const Command* command : commands()) {
      if (!command->name.starts_with(family)) continue;
      const std::string_view name = command->name.substr(family.size());
      names.emplace_back(name.substr(0, name.find(' ')));
      if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1) continue;
      (list += list.empty() ? "" : ", ") += names.back();
    }
    if (rest.empty()) {
      throw_usage(family + "command: expected one of " + list + ", got none\n" + general_usage());
    }
    throw_usage(family + "command: expected one of " + list + ", got \"" + rest[0] + '"' +
                suggestion(rest[0], names, app.get_name()));
  }

  static void print_help(const Command* command, const std::vector<std::string>& words) {
    std::string name;
    for (const std::string& word : words) {
      if (word == "help" && name.empty()) continue;
      (name += name.empty() ? "" : " ") += word;
      for (const Command* candidate : commands()) {
        if (command == nullptr && candidate->name == name) command = candidate;
      }
    }
    const std::size_t columns = terminal_columns(STDOUT_FILENO);
    print(command == nullptr ? general_help(columns) : command_help(*command, columns));
  }

  static std::string general_usage() { return "Usage: mha-cli COMMAND [OPTION]… [TEXT]…; see 'mha-cli --help'"; }

  Options options_;
  bool help_ = false;
  bool version_ = false;
  CLI::App root_;
  std::map<std::string, CLI::App*> families_;
  std::vector<std::pair<const Command*, CLI::App*>> apps_;
};

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  std::optional<Options> options = Parser().parse(argc, argv);
  if (options) check_options(*options);
  return options;
}

}  // namespace mha::cli
