#pragma once

#include <unistd.h>

#include <cstddef>

#include "cli/options.hpp"
#include "output/heatmap.hpp"

namespace mha::cli {

/// `COLUMNS`, else the width of the terminal, else 80.
std::size_t terminal_columns(int descriptor);

/// What colours to write to a descriptor: none unless asked for or on a terminal without `NO_COLOR`; how many by
/// `COLORTERM` and `TERM`.
ColorDepth color_depth(When color, int descriptor);

}  // namespace mha::cli
