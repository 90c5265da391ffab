#pragma once

#include <string>

#include "mha/analysis/attention_maps.hpp"
#include "output/html.hpp"

namespace mha {

/// Small multiples of all maps (one row per layer), or one large map with its weights in percent, labels on both axes.
/// The same input gives the same bytes.
std::string attention_svg(const AttentionMaps& maps, const InputFacts& facts);

/// The same picture as a PNG file, two pixels per point. Text is set by Pango and Cairo, which are loaded when first
/// needed; Error{output} if they are not installed. Bytes depend only on the installed fonts.
std::string attention_png(const AttentionMaps& maps, const InputFacts& facts);

}  // namespace mha
