#pragma once

#include <any>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/files.hpp"
#include "cli/options/global.hpp"
#include "cli/options/heads.hpp"
#include "cli/options/input.hpp"
#include "cli/options/option_list.hpp"
#include "cli/options/output.hpp"
#include "cli/options/pooling.hpp"
#include "cli/options/quantize.hpp"
#include "cli/options/questions.hpp"
#include "cli/options/tokens.hpp"
#include "cli/options/windows.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {

struct Command;

/// Everything that the command line says, checked as far as that is possible without a model. A group that the command
/// does not take has its default values.
struct Options {
  const Command* command = nullptr;
  GlobalOptions global;
  InputOptions input;
  TokenOptions tokens;
  PoolingOptions pooling;
  HeadOptions heads;
  WindowOptions windows;
  QuantizeOptions quantize;
  AttentionQuestions questions;
  OutputOptions output;
  FileOptions files;
  /// Names and values of all options that were given, in that order.
  std::vector<std::pair<std::string, std::string>> given;
  std::string query;  ///< the first TEXT of a command that looks for something

  /// The command's own options, of the type that its file declares.
  template <class Own>
  Own& own() {
    if (!own_.has_value()) own_.emplace<Own>();
    return std::any_cast<Own&>(own_);
  }
  template <class Own>
  const Own& own() const {
    return std::any_cast<const Own&>(own_);
  }

  /// `--format`, else what the ending of `--output` says, else the command's first.
  Format format() const;

 private:
  std::any own_;
};

/// All options of a command: its own, those of its groups, the global ones. Setters write to `options`, which must
/// outlive the list and knows its command.
OptionList all_options(Options& options);

/// What can be wrong with options that are right one by one; needs no model. Throws Error{usage}.
void check_options(const Options& options);

/// The message of an error, with the option that sets the parameter it is about: "--max-length: …".
std::string message_of(const Error& error);

/// Reads the command line. Help and version are printed here and end in an empty result. Throws Error{usage}.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace mha::cli
