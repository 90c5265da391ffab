#pragma once

#include <cstddef>
#include <string>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// The colours of a terminal. `none` uses shades of characters (` ░▒▓█`).
enum class ColorDepth { none, ansi16, ansi256, truecolor };

struct HeatmapOptions {
  std::size_t columns = 80;  ///< no line is wider
  ColorDepth color = ColorDepth::none;
};

/// Attention maps for a terminal: queries down, keys across. A few maps get labels on both axes and, if they fit, the
/// weights in percent. Many become small multiples, one band per layer, with labelled rows and numbered columns.
/// The colour of a cell follows the square root of its weight; a legend says so. Inputs too long for the width are cut,
/// and a line says by how much. Control characters in tokens are shown as escapes.
std::string heatmap(const AttentionMaps& maps, const HeatmapOptions& options);

}  // namespace mha
