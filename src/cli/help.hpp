#pragma once

#include <string>

#include "cli/command.hpp"

namespace mha::cli {

/// What `mha-cli --help` prints: usage, the commands, the global options; wrapped to `columns`.
std::string general_help(std::size_t columns);
/// What `mha-cli COMMAND --help` prints.
std::string command_help(const Command& command, std::size_t columns);
/// `--version`: version, commit, backends, what auto chooses, and the CPU.
std::string version_text();

}  // namespace mha::cli
