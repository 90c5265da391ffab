#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace mha {

struct Rgb {
  std::uint8_t red, green, blue;
};

/// The scale of every picture of weights: a sequential ramp whose lightness rises evenly, so that it survives grey
/// printing and colour blindness (anchors of matplotlib's CC0 colour map "viridis").
inline constexpr std::array<Rgb, 9> kColorScale{{{68, 1, 84},
                                                 {71, 45, 123},
                                                 {59, 82, 139},
                                                 {44, 114, 142},
                                                 {33, 145, 140},
                                                 {40, 174, 128},
                                                 {94, 201, 98},
                                                 {173, 220, 48},
                                                 {253, 231, 37}}};

/// Position of a weight on the scale: its square root, so that small shares can be distinguished.
inline double scale_position(float weight) {
  // NaN, which a damaged model may have in a head that is ablated, stands at 0: places index tables.
  return weight > 0.0F ? std::sqrt(std::min(static_cast<double>(weight), 1.0)) : 0.0;
}

inline Rgb scale_color(double position) {
  const double at = std::clamp(position, 0.0, 1.0) * static_cast<double>(kColorScale.size() - 1);
  const auto index = std::min(static_cast<std::size_t>(at), kColorScale.size() - 2);
  const double share = at - static_cast<double>(index);
  const auto mix = [share](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
  };
  const Rgb& a = kColorScale[index];
  const Rgb& b = kColorScale[index + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

/// True if black text reads better than white on this colour (relative luminance).
inline bool dark_text_on(Rgb c) { return 0.2126 * c.red + 0.7152 * c.green + 0.0722 * c.blue > 110; }

}  // namespace mha
