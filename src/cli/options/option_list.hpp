#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/choice.hpp"

namespace mha::cli {

/// What the value of an option is: decides what completion offers for it.
enum class ValueKind {
  none,     ///< a flag
  text,     ///< any text
  number,   ///< a number
  choice,   ///< one of `choices`
  list,     ///< some of `choices`, separated by commas
  file,     ///< a file that is read; `endings` narrow it
  output,   ///< a file or folder that is written
  prompt,   ///< the name of a prompt of the model
  model,    ///< the name, folder or file of a model
  layers,   ///< numbers and ranges of layers
  heads,    ///< numbers and ranges of heads
  ablation  ///< layer.head
};

/// One option: what the parser reads and what help, manual pages and completions say about it.
struct OptionSpec {
  std::string names;  ///< "-m,--model"
  std::string value;  ///< the word that help puts for its value; empty: a flag
  std::string help;   ///< one line
  std::string group;  ///< heading in help
  ValueKind kind = ValueKind::none;
  std::vector<std::string> choices;  ///< words that it takes
  std::vector<std::string> endings;  ///< of files that it takes: ".txt"
  std::string standard;              ///< what holds without the option; empty: help says nothing of it
  std::string details;               ///< a paragraph for the manual page; may be empty
  bool repeatable = false;
  std::function<void(const std::string&)> set;  ///< throws Error{usage}; a flag gets ""

  /// "--model"
  std::string_view long_name() const { return std::string_view(names).substr(names.rfind(',') + 1); }
  /// The help line with choices and default: "bad inputs: fail or skip (default fail)".
  std::string help_line() const;

  OptionSpec& by_default(std::string value_text) {
    standard = std::move(value_text);
    return *this;
  }
  OptionSpec& explain(std::string paragraph) {
    details = std::move(paragraph);
    return *this;
  }
  OptionSpec& repeats() {
    repeatable = true;
    return *this;
  }
  OptionSpec& ends_in(std::vector<std::string> file_endings) {
    endings = std::move(file_endings);
    return *this;
  }
};

/// The options of one command, in the order that help lists them. Targets are written when a value is set, so they must
/// outlive the list. A default that help can show is what the target holds when its option is declared.
class OptionList {
 public:
  using Set = std::function<void(const std::string&)>;

  /// The heading of the options that follow.
  void group(std::string title) { group_ = std::move(title); }

  OptionSpec& flag(std::string names, std::string help, bool& target) {
    return flag(std::move(names), std::move(help), [&target] { target = true; });
  }
  OptionSpec& flag(std::string names, std::string help, std::function<void()> set);
  /// Any value; `set` reads it.
  OptionSpec& value(std::string names, std::string value, std::string help, ValueKind kind, Set set);
  /// Any text, also an empty one.
  OptionSpec& text(std::string names, std::string value, std::string help, Set set) {
    return this->value(std::move(names), std::move(value), std::move(help), ValueKind::text, std::move(set));
  }
  /// A name or path; an empty one is refused: a script has that if its variable is not set.
  OptionSpec& named(std::string names, std::string value, std::string help, ValueKind kind, std::string& target);
  /// A whole number from `least` to `most`.
  template <class Target>
  OptionSpec& count(std::string names, std::string value, std::string help, Target& target, std::size_t least,
                    std::size_t most = kNoLimit) {
    std::string option = long_name(names);
    return this->value(std::move(names), std::move(value), std::move(help), ValueKind::number,
                       [&target, option = std::move(option), least, most](const std::string& text) {
                         target = static_cast<CountOf<Target>>(parse_count(option, text, least, most));
                       });
  }
  /// One of some words. The word whose value the target holds is the default that help shows.
  template <class Target>
  OptionSpec& choice(std::string names, std::string value, std::string help, Target& target,
                     std::vector<std::pair<std::string, Target>> choices) {
    std::vector<std::string> words;
    std::string standard;
    for (const auto& [word, meaning] : choices) {
      words.push_back(word);
      if constexpr (std::equality_comparable<Target>) {
        if (standard.empty() && meaning == target) standard = word;
      }
    }
    std::string option = long_name(names);
    OptionSpec& spec = this->value(std::move(names), std::move(value), std::move(help), ValueKind::choice,
                                   [&target, option, choices = std::move(choices)](const std::string& word) {
                                     target = choose<Target>(option, word, choices);
                                   });
    spec.choices = std::move(words);
    return spec.by_default(std::move(standard));
  }
  /// Some of the words that `set` knows, separated by commas.
  OptionSpec& list(std::string names, std::string value, std::string help, std::vector<std::string> choices, Set set);

  const std::vector<OptionSpec>& specs() const { return specs_; }
  /// nullptr: there is no option of that name ("--model" or "-m").
  const OptionSpec* find(std::string_view name) const;
  /// Adds the options of another list whose names are not taken.
  void add_missing(const OptionList& other);

 private:
  template <class Target>
  struct Count {
    using Type = Target;
  };
  template <class Target>
  requires requires { typename Target::value_type; }
  struct Count<Target> {
    using Type = typename Target::value_type;
  };
  template <class Target>
  using CountOf = typename Count<Target>::Type;

  static constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);
  static std::string long_name(const std::string& names) { return names.substr(names.rfind(',') + 1); }

  std::string group_;
  std::vector<OptionSpec> specs_;
};

}  // namespace mha::cli
