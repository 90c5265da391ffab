#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"

namespace mha::cli {

/// What may stand in place of the last of some words of a command line (without the program's name): one candidate per
/// line, with a tab and its description if it has one. Lines that begin with a colon ask the shell for more:
/// `:files .txt .json` (all files if no ending is named), `:folders`. Never throws for what the words say.
std::string completions(const std::vector<std::string>& words);

/// The scripts that ask the program in this way.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

}  // namespace mha::cli
