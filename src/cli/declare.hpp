#pragma once

#include "cli/command.hpp"
#include "cli/option_list.hpp"
#include "cli/options.hpp"

namespace mha::cli {

/// Options that every command takes, before or after its name. Setters write to `options`, which must outlive the list.
OptionList global_options(Options& options, const Command* command = nullptr);

/// The options of one command besides the global ones.
OptionList command_options(const Command& command, Options& options);

/// What can be wrong with options that are fine one by one; needs no model. Throws Error{usage}.
void check_options(const Options& options);

/// "jsonl", as `--format` takes it.
std::string_view format_name(Format format);

}  // namespace mha::cli
