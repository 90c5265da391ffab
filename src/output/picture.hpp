#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mha/analysis/attention_maps.hpp"
#include "output/color_scale.hpp"
#include "output/html.hpp"

namespace mha {

/// A drawing as a list of simple marks, in points from the top left. SVG and PNG are two writers of the same list.
struct Picture {
  struct Text {
    enum class Anchor { begin, middle, end };
    double x = 0, y = 0;  ///< middle of the line's height at the anchor
    double size = 10;
    Anchor anchor = Anchor::begin;
    double rotation = 0;  ///< degrees, clockwise, around (x, y)
    Rgb color{27, 27, 31};
    bool bold = false;
    std::string text;
  };
  /// A field of equal cells, `pixels[row * columns + column]`.
  struct Cells {
    double x = 0, y = 0, width = 0, height = 0;
    std::size_t rows = 0, columns = 0;
    std::vector<Rgb> pixels;
  };
  double width = 0, height = 0;
  std::string title;
  std::vector<Cells> cells;
  std::vector<Text> texts;
};

/// Small multiples, one row per layer; one map gets large cells with percentages. Labels on both axes, a scale.
Picture attention_picture(const AttentionMaps& maps, const InputFacts& facts);

/// The same without title and scale, for a page that has its own.
Picture map_picture(const AttentionMaps& maps);

/// The first map alone, labelled, as an SVG element for a page.
std::string map_svg(const AttentionMaps& maps);

/// An RGB image, three bytes a pixel, as a PNG file (libpng). The same bytes for the same pixels.
std::string encode_png(const std::vector<std::uint8_t>& rgb, std::size_t width, std::size_t height);

std::string base64(const std::string& bytes);

}  // namespace mha
