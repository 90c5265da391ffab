#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>

#include "cli/options.hpp"
#include "output/heatmap.hpp"

namespace mha::cli {

/// `COLUMNS`, else the width of the terminal, else 80.
std::size_t terminal_columns(int descriptor);

/// Whether results go to a terminal.
bool writes_to_terminal(const OutputOptions& output);

/// `TMPDIR`, else /tmp.
std::string scratch_folder();

/// What colours to write to a descriptor: none unless asked for or on a terminal without `NO_COLOR`; how many by
/// `COLORTERM` and `TERM`.
ColorDepth color_depth(When color, int descriptor);

}  // namespace mha::cli
