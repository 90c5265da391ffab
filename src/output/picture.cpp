#include "output/picture.hpp"

#include <algorithm>
#include <cmath>

#include "output/terminal_text.hpp"

namespace mha {
namespace {

using Anchor = Picture::Text::Anchor;

constexpr double kMargin = 16;
constexpr double kGap = 14;
constexpr double kTitleSize = 13;
constexpr double kWideText = 1.15;  // room for fonts that are wider than the estimate
constexpr std::size_t kLabelColumns = 16;
constexpr Rgb kInk{27, 27, 31};
constexpr Rgb kSoftInk{80, 84, 92};

std::string label_text(const MapLabel& label) {
  const std::string text = escape_controls(label.text.empty() ? label.piece : label.text);
  if (text.find_first_not_of(' ') == std::string::npos) return "␠";
  return fit(text, kLabelColumns);
}

// An estimate that suits most fonts: 0.6 em a column.
double text_width(const std::string& text, double size) {
  return 0.6 * size * static_cast<double>(display_width(text));
}

Picture::Cells cells_of(const AttentionMaps& maps, std::size_t layer, std::size_t head, double x, double y,
                        double side) {
  Picture::Cells cells{x, y, side, side, maps.tokens(), maps.tokens(), {}};
  const float* weights = maps.map(layer, head);
  cells.pixels.reserve(maps.tokens() * maps.tokens());
  for (std::size_t i = 0; i < maps.tokens() * maps.tokens(); ++i) {
    cells.pixels.push_back(scale_color(scale_position(weights[i])));
  }
  return cells;
}

void add_scale(Picture& picture, double x, double y) {
  constexpr std::size_t kSteps = 64;
  constexpr double kWidth = 180;
  Picture::Cells bar{x, y, kWidth, 8, 1, kSteps, {}};
  for (std::size_t i = 0; i < kSteps; ++i) {
    bar.pixels.push_back(scale_color(static_cast<double>(i) / static_cast<double>(kSteps - 1)));
  }
  picture.cells.push_back(std::move(bar));
  for (const double weight : {0.0, 0.06, 0.25, 0.56, 1.0}) {
    const double at = x + kWidth * std::sqrt(weight);
    picture.texts.push_back(
        {at, y + 15, 8, Anchor::middle, 0, kSoftInk, false, std::to_string(std::lround(weight * 100)) + "%"});
  }
}

// Without facts the maps stand alone.
Picture draw(const AttentionMaps& maps, const InputFacts* facts) {
  const std::size_t tokens = std::max<std::size_t>(maps.tokens(), 1);
  const auto count = static_cast<double>(tokens);
  const bool single = maps.layer_count * maps.head_count == 1;
  const double cell = single ? std::clamp(640.0 / count, 3.0, 30.0) : std::clamp(110.0 / count, 1.0, 12.0);
  const double side = cell * count;
  const double label_size = std::clamp(cell * 0.8, 2.5, single ? 11.0 : 8.0);

  std::vector<std::string> labels;
  double label_width = 0;
  for (const MapLabel& label : maps.labels) {
    labels.push_back(label_text(label));
    label_width = std::max(label_width, text_width(labels.back(), label_size));
  }
  const bool labelled = label_size >= 3.5;  // below that nobody can read them
  const double left = kMargin + (labelled ? label_width + 4 : 0);
  const double above = labelled ? label_width * 0.87 + 8 : 4;

  Picture picture;
  const std::string text = facts == nullptr ? "" : facts->text + (facts->text_pair ? " ‖ " + *facts->text_pair : "");
  picture.title = "attention weights" + (text.empty() ? "" : ": " + text);
  picture.width = left + static_cast<double>(maps.head_count) * (side + kGap) + label_width * 0.5 + kMargin;
  std::vector<std::string> subtitles;
  if (facts != nullptr) {
    subtitles.push_back(facts->model + "; row: query token, column: key token");
    subtitles.insert(subtitles.end(), facts->notes.begin(), facts->notes.end());
  }
  picture.width = std::max(picture.width, kMargin * 2 + 200);
  for (const std::string& line : subtitles) {
    picture.width = std::max(picture.width, kMargin * 2 + kWideText * text_width(line, 9));
  }

  double y = 0;
  if (facts != nullptr) {
    const auto title_columns = static_cast<std::size_t>((picture.width - 2 * kMargin) / (0.6 * kTitleSize));
    y = kMargin + kTitleSize / 2;
    picture.texts.push_back(
        {kMargin, y, kTitleSize, Anchor::begin, 0, kInk, true, fit(escape_controls(text), title_columns)});
    y += kTitleSize + 2;
    for (const std::string& line : subtitles) {
      picture.texts.push_back({kMargin, y, 9, Anchor::begin, 0, kSoftInk, false, line});
      y += 12;
    }
  }

  for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
    // Column labels stand once above the first row of maps, where every row has the same columns.
    const bool columns_named = labelled && (layer == 0 || single);
    y += (columns_named ? above : 0) + 14;
    for (std::size_t head = 0; head < maps.head_count; ++head) {
      const double x = left + static_cast<double>(head) * (side + kGap);
      picture.cells.push_back(cells_of(maps, layer, head, x, y, side));
      const double name_y = columns_named ? y - above - 4 : y - 7;
      if (facts != nullptr)
        picture.texts.push_back({x + side / 2, name_y, 9, Anchor::middle, 0, kInk, false, maps.name(layer, head)});
      for (std::size_t t = 0; columns_named && t < labels.size(); ++t) {
        const double at = x + (static_cast<double>(t) + 0.5) * cell;
        picture.texts.push_back({at, y - 4, label_size, Anchor::begin, -60, kInk, false, labels[t]});
      }
      for (std::size_t q = 0; single && cell >= 18 && q < tokens; ++q) {
        for (std::size_t k = 0; k < tokens && k < maps.tokens(); ++k) {
          const float weight = maps.map(layer, head)[q * maps.tokens() + k];
          if (weight < 0.005F) continue;
          const Rgb ink = dark_text_on(scale_color(scale_position(weight))) ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
          picture.texts.push_back({x + (static_cast<double>(k) + 0.5) * cell, y + (static_cast<double>(q) + 0.5) * cell,
                                   8, Anchor::middle, 0, ink, false, std::to_string(std::lround(weight * 100.0F))});
        }
      }
    }
    for (std::size_t t = 0; labelled && t < labels.size(); ++t) {
      picture.texts.push_back(
          {left - 4, y + (static_cast<double>(t) + 0.5) * cell, label_size, Anchor::end, 0, kInk, false, labels[t]});
    }
    y += side + 4;
  }
  if (facts != nullptr) {
    y += 14;
    add_scale(picture, kMargin + 8, y);
    y += 22;
  }
  picture.height = y + kMargin;
  return picture;
}

}  // namespace

Picture attention_picture(const AttentionMaps& maps, const InputFacts& facts) { return draw(maps, &facts); }

Picture map_picture(const AttentionMaps& maps) { return draw(maps, nullptr); }

}  // namespace mha
