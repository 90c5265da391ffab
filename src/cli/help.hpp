#pragma once

#include <string>
#include <string_view>

#include "cli/command.hpp"

namespace mha::cli {

/// What `mha-cli --help` prints: usage, the commands, the global options; wrapped to `columns`. Of a family ("model ")
/// its commands alone.
std::string general_help(std::size_t columns, std::string_view family = {});
/// What `mha-cli COMMAND --help` prints.
std::string command_help(const Command& command, std::size_t columns);
/// "0.1.0"
std::string version_number();
/// The day of the build, or of SOURCE_DATE_EPOCH: "2026-01-31".
std::string release_date();
/// `--version`: version, commit, backends, what auto chooses, and the CPU.
std::string version_text();
/// Version and commit: "0.1.0 (abc)".
std::string program_version();

}  // namespace mha::cli
