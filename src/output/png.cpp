#include <dlfcn.h>
#include <pango/pangocairo.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "mha/core/error.hpp"
#include "output/picture.hpp"
#include "output/picture_files.hpp"

namespace mha {
namespace {

constexpr double kPixelsPerPoint = 2;
constexpr double kLargestSide = 30000;  // of Cairo's image surfaces, with some room

// Pango and Cairo with their two dozen libraries cost milliseconds to load, which only a PNG should pay.
class TextSetter {
 public:
  TextSetter() {
    handle_ = dlopen("libpangocairo-1.0.so.0", RTLD_NOW | RTLD_GLOBAL);
    if (handle_ == nullptr) {
      throw_output("png: libpangocairo-1.0: not found; install libpangocairo-1.0-0, or use the format svg");
    }
  }

  template <class Function>
  Function* find(const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr) throw_output("png: libpangocairo-1.0: no function " + std::string(name));
    return reinterpret_cast<Function*>(symbol);
  }

 private:
  void* handle_;
};

#define MHA_PANGO(name) decltype(::name)* name = library.find<decltype(::name)>(#name)

struct Pango {
  TextSetter library;
  MHA_PANGO(cairo_image_surface_create_for_data);
  MHA_PANGO(cairo_surface_flush);
  MHA_PANGO(cairo_surface_destroy);
  MHA_PANGO(cairo_surface_status);
  MHA_PANGO(cairo_create);
  MHA_PANGO(cairo_destroy);
  MHA_PANGO(cairo_save);
  MHA_PANGO(cairo_restore);
  MHA_PANGO(cairo_translate);
  MHA_PANGO(cairo_rotate);
  MHA_PANGO(cairo_scale);
  MHA_PANGO(cairo_move_to);
  MHA_PANGO(cairo_set_source_rgb);
  MHA_PANGO(pango_cairo_create_layout);
  MHA_PANGO(pango_cairo_show_layout);
  MHA_PANGO(pango_layout_set_text);
  MHA_PANGO(pango_layout_set_font_description);
  MHA_PANGO(pango_layout_get_size);
  MHA_PANGO(pango_font_description_from_string);
  MHA_PANGO(pango_font_description_set_absolute_size);
  MHA_PANGO(pango_font_description_free);
  MHA_PANGO(g_object_unref);
};

#undef MHA_PANGO

// BGRX, as Cairo's RGB24 surfaces on little-endian machines.
struct Canvas {
  std::size_t width = 0, height = 0;
  std::vector<std::uint32_t> pixels;
};

void fill(Canvas& canvas, const Picture::Cells& cells) {
  const auto edge = [](double start, double extent, std::size_t index, std::size_t count) {
    return static_cast<std::size_t>(
        std::lround(kPixelsPerPoint * (start + extent * static_cast<double>(index) / static_cast<double>(count))));
  };
  for (std::size_t row = 0; row < cells.rows; ++row) {
    const std::size_t top = edge(cells.y, cells.height, row, cells.rows);
    const std::size_t bottom = std::min(edge(cells.y, cells.height, row + 1, cells.rows), canvas.height);
    for (std::size_t column = 0; column < cells.columns; ++column) {
      const Rgb c = cells.pixels[row * cells.columns + column];
      const std::uint32_t pixel = std::uint32_t{c.red} << 16 | std::uint32_t{c.green} << 8 | c.blue;
      const std::size_t left = edge(cells.x, cells.width, column, cells.columns);
      const std::size_t right = std::min(edge(cells.x, cells.width, column + 1, cells.columns), canvas.width);
      for (std::size_t y = top; y < bottom; ++y) {
        for (std::size_t x = left; x < right; ++x) canvas.pixels[y * canvas.width + x] = pixel;
      }
    }
  }
}

void set_texts(Canvas& canvas, const std::vector<Picture::Text>& texts) {
  const Pango pango;
  cairo_surface_t* surface = pango.cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(canvas.pixels.data()), CAIRO_FORMAT_RGB24, static_cast<int>(canvas.width),
      static_cast<int>(canvas.height), static_cast<int>(canvas.width * 4));
  if (pango.cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) throw_output("png: the picture is too large");
  cairo_t* cairo = pango.cairo_create(surface);
  PangoFontDescription* plain = pango.pango_font_description_from_string("DejaVu Sans, Noto Sans, sans-serif");
  PangoFontDescription* bold = pango.pango_font_description_from_string("DejaVu Sans, Noto Sans, sans-serif Bold");
  PangoLayout* layout = pango.pango_cairo_create_layout(cairo);
  for (const Picture::Text& text : texts) {
    PangoFontDescription* font = text.bold ? bold : plain;
    pango.pango_font_description_set_absolute_size(font, text.size * kPixelsPerPoint * PANGO_SCALE);
    pango.pango_layout_set_font_description(layout, font);
    pango.pango_layout_set_text(layout, text.text.data(), static_cast<int>(text.text.size()));
    int width = 0;
    int height = 0;
    pango.pango_layout_get_size(layout, &width, &height);
    const double extent = static_cast<double>(width) / PANGO_SCALE;
    const double shift = text.anchor == Picture::Text::Anchor::begin ? 0
                         : text.anchor == Picture::Text::Anchor::end ? extent
                                                                     : extent / 2;
    pango.cairo_save(cairo);
    pango.cairo_translate(cairo, text.x * kPixelsPerPoint, text.y * kPixelsPerPoint);
    pango.cairo_rotate(cairo, text.rotation * M_PI / 180);
    pango.cairo_move_to(cairo, -shift, -static_cast<double>(height) / PANGO_SCALE / 2);
    pango.cairo_set_source_rgb(cairo, text.color.red / 255.0, text.color.green / 255.0, text.color.blue / 255.0);
    pango.pango_cairo_show_layout(cairo, layout);
    pango.cairo_restore(cairo);
  }
  pango.cairo_surface_flush(surface);
  pango.g_object_unref(layout);
  pango.pango_font_description_free(plain);
  pango.pango_font_description_free(bold);
  pango.cairo_destroy(cairo);
  pango.cairo_surface_destroy(surface);
}

}  // namespace

std::string base64(const std::string& bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(bytes.size() - i, 3);
    const auto byte = [&](std::size_t k) {
      return k < left ? std::uint32_t{static_cast<unsigned char>(bytes[i + k])} : 0U;
    };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k) out += k <= left ? kAlphabet[group >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

std::string encode_png(const std::vector<std::uint8_t>& rgb, std::size_t width, std::size_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&image, file.data(), &size, 0, rgb.data(), 0, nullptr) == 0) {
    throw_output("png: " + std::string(image.message));
  }
  file.resize(size);
  return file;
}

std::string attention_png(const AttentionMaps& maps, const InputFacts& facts) {
  const Picture picture = attention_picture(maps, facts);
  if (std::max(picture.width, picture.height) * kPixelsPerPoint > kLargestSide) {
    throw_output("png: the picture would be wider than " + std::to_string(std::lround(kLargestSide)) +
                 " pixels; choose fewer layers or heads, or use the format svg");
  }
  Canvas canvas;
  canvas.width = static_cast<std::size_t>(std::ceil(picture.width * kPixelsPerPoint));
  canvas.height = static_cast<std::size_t>(std::ceil(picture.height * kPixelsPerPoint));
  canvas.pixels.assign(canvas.width * canvas.height, 0xFFFFFFU);
  for (const Picture::Cells& cells : picture.cells) fill(canvas, cells);
  set_texts(canvas, picture.texts);

  std::vector<std::uint8_t> rgb;
  rgb.reserve(canvas.pixels.size() * 3);
  for (const std::uint32_t pixel : canvas.pixels) {
    rgb.push_back(static_cast<std::uint8_t>(pixel >> 16 & 255U));
    rgb.push_back(static_cast<std::uint8_t>(pixel >> 8 & 255U));
    rgb.push_back(static_cast<std::uint8_t>(pixel & 255U));
  }
  return encode_png(rgb, canvas.width, canvas.height);
}

}  // namespace mha
