#include <cmath>
#include <cstdio>

#include "core/numbers.hpp"
#include "output/picture.hpp"
#include "output/picture_files.hpp"

namespace mha {
namespace {

// Fields above this many cells are written as an embedded image instead of a rectangle a cell.
constexpr std::size_t kRectangles = 40 * 40;

std::string number(double value) {
  std::string text;
  append_float(text, static_cast<float>(value), 2);
  return text;
}

std::string hex(Rgb c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.red, c.green, c.blue);
  return text;
}

std::string box(double x, double y, double width, double height) {
  return " x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) + "\" height=\"" + number(height) +
         "\"";
}

void write_cells(std::string& out, const Picture::Cells& cells) {
  if (cells.pixels.size() > kRectangles) {
    std::vector<std::uint8_t> rgb;
    rgb.reserve(cells.pixels.size() * 3);
    for (const Rgb& c : cells.pixels) rgb.insert(rgb.end(), {c.red, c.green, c.blue});
    out += "<image" + box(cells.x, cells.y, cells.width, cells.height) +
           " preserveAspectRatio=\"none\" image-rendering=\"pixelated\" xlink:href=\"data:image/png;base64," +
           base64(encode_png(rgb, cells.columns, cells.rows)) + "\"/>\n";
    return;
  }
  const double width = cells.width / static_cast<double>(cells.columns);
  const double height = cells.height / static_cast<double>(cells.rows);
  out += "<g shape-rendering=\"crispEdges\">\n";
  for (std::size_t row = 0; row < cells.rows; ++row) {
    for (std::size_t column = 0; column < cells.columns; ++column) {
      out += "<rect" +
             box(cells.x + static_cast<double>(column) * width, cells.y + static_cast<double>(row) * height, width,
                 height) +
             " fill=\"" + hex(cells.pixels[row * cells.columns + column]) + "\"/>\n";
    }
  }
  out += "</g>\n";
}

void write_text(std::string& out, const Picture::Text& text) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  out += "<text x=\"" + number(text.x) + "\" y=\"" + number(text.y) + "\" dy=\"0.35em\" font-size=\"" +
         number(text.size) + "\" fill=\"" + hex(text.color) + "\" text-anchor=\"" +
         kAnchors[static_cast<int>(text.anchor)] + "\"";
  if (text.bold) out += " font-weight=\"bold\"";
  if (text.rotation != 0) {
    out += " transform=\"rotate(" + number(text.rotation) + " " + number(text.x) + " " + number(text.y) + ")\"";
  }
  out += ">" + escape_markup(text.text) + "</text>\n";
}

}  // namespace

namespace {

std::string svg_element(const Picture& picture, std::string_view ground) {
  const std::string width = number(std::ceil(picture.width));
  const std::string height = number(std::ceil(picture.height));
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"" +
                    width + "\" height=\"" + height + "\" viewBox=\"0 0 " + width + " " + height +
                    "\" font-family=\"'DejaVu Sans', 'Noto Sans', 'Noto Sans CJK SC', sans-serif\" role=\"img\">\n";
  out += "<title>" + escape_markup(picture.title) + "</title>\n";
  out += "<rect width=\"100%\" height=\"100%\" fill=\"" + std::string(ground) + "\"/>\n";
  for (const Picture::Cells& cells : picture.cells) write_cells(out, cells);
  for (const Picture::Text& text : picture.texts) write_text(out, text);
  return out + "</svg>\n";
}

}  // namespace

std::string attention_svg(const AttentionMaps& maps, const InputFacts& facts) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + svg_element(attention_picture(maps, facts), "#ffffff");
}

std::string map_svg(const AttentionMaps& maps) { return svg_element(map_picture(maps), "#ffffff"); }

}  // namespace mha
