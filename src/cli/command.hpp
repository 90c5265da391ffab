#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace mha::cli {

class Log;

/// One command: what help says about it, which options it takes, and what it does. Each has a file in commands/ and a
/// row in commands.cpp.
struct Command {
  std::string_view name;       ///< "embed", "model info"
  std::string_view summary;    ///< one line for the list of commands
  std::string_view arguments;  ///< "TEXT…"
  std::string_view about;      ///< a paragraph
  std::vector<std::string_view> examples;

  /// Its own options; they are kept in a struct of its file: `options.own<EmbedOptions>()`. May be null.
  void (*declare)(OptionList& list, Options& options) = nullptr;
  std::vector<const OptionGroup*> options;  ///< those that it shares with others
  /// Called after the checks of its groups. May be null.
  void (*check)(const Options& options) = nullptr;
  std::vector<Format> formats;  ///< the first is the default; empty: it writes no results

  bool hidden = false;           ///< help does not list it: scripts call it
  bool inputs_optional = false;  ///< it has work without inputs: a terminal on standard input is not refused
  bool single_texts = false;     ///< inputs are single texts, never pairs
  bool takes_query = false;      ///< the first TEXT is no input but `Options::query`
  bool is_task = false;          ///< results come from a task head: their keys cannot be passed through

  int (*run)(const Options& options, Log& log) = nullptr;  ///< returns the exit code
};

/// All commands, in the order that help lists them.
std::span<const Command* const> commands();

}  // namespace mha::cli
