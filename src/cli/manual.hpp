#pragma once

#include <string>

#include "cli/command.hpp"

namespace mha::cli {

/// "mha-cli", "mha-cli-model-info"
std::string manual_name(const Command* command);

/// The manual page (section 1, man(7) macros) of a command; nullptr: of the program.
std::string manual_page(const Command* command);

}  // namespace mha::cli
