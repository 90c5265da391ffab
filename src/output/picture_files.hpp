#pragma once

#include <string>

#include "mha/analysis/attention_maps.hpp"
#include "output/html.hpp"

namespace mha {

/// Small multiples of all maps (a row a layer), or one large map with its weights in percent, labels on both axes.
/// The same input gives the same bytes.
std::string attention_svg(const AttentionMaps& maps, const InputFacts& facts);

/// The same picture as a PNG file, two pixels a point. Text is set by Pango and Cairo, which are loaded when first
/// needed; Error{output} where they are not installed. Bytes depend on the installed fonts alone.
std::string attention_png(const AttentionMaps& maps, const InputFacts& facts);

}  // namespace mha
