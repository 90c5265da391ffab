#include "output/heatmap.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "output/color_scale.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

constexpr std::size_t kFewMaps = 2;        // up to here each map is drawn large
constexpr std::size_t kLabelColumns = 14;  // widest row label
constexpr std::size_t kGap = 2;            // blanks between small multiples
constexpr std::string_view kReset = "\x1b[0m";

std::string number(std::size_t n) { return std::to_string(n); }

// The scale in the 6×6×6 cube of xterm's 256 colours: nearest hues whose lightness still rises from step to step.
struct CubeStep {
  int code;
  bool dark_text;
};
constexpr CubeStep kCubeScale[] = {{53, false}, {54, false}, {24, false}, {31, false}, {37, true},
                                   {42, true},  {77, true},  {149, true}, {226, true}};

std::string ground_code(float weight, ColorDepth depth, bool with_text) {
  const double position = scale_position(weight);
  if (depth == ColorDepth::truecolor) {
    const Rgb c = scale_color(position);
    return "\x1b[48;2;" + number(c.red) + ";" + number(c.green) + ";" + number(c.blue) + "m" +
           (!with_text        ? ""
            : dark_text_on(c) ? "\x1b[38;2;0;0;0m"
                              : "\x1b[38;2;255;255;255m");
  }
  const CubeStep& step =
      kCubeScale[static_cast<std::size_t>(std::lround(position * static_cast<double>(std::size(kCubeScale) - 1)))];
  return "\x1b[48;5;" + std::to_string(step.code) + "m" +
         (!with_text       ? ""
          : step.dark_text ? "\x1b[38;5;16m"
                           : "\x1b[38;5;231m");
}

// Five shades of character, for terminals without enough colours.
std::string_view shade(float weight) {
  static constexpr std::string_view kShades[] = {" ", "░", "▒", "▓", "█"};
  const auto level = static_cast<std::size_t>(std::lround(scale_position(weight) * 4));
  return kShades[std::min<std::size_t>(level, 4)];
}

// One cell of `columns` columns; `text` is printed in it where given.
std::string cell(float weight, std::size_t columns, std::string_view text, ColorDepth depth) {
  if (depth == ColorDepth::truecolor || depth == ColorDepth::ansi256) {
    return ground_code(weight, depth, !text.empty()) + pad_left(text, columns);
  }
  const std::string_view block = shade(weight);
  std::string out;
  if (depth == ColorDepth::ansi16) {
    static constexpr std::string_view kInks[] = {"\x1b[94m", "\x1b[94m", "\x1b[36m", "\x1b[32m", "\x1b[93m"};
    out += kInks[std::min<std::size_t>(static_cast<std::size_t>(std::lround(scale_position(weight) * 4)), 4)];
  }
  const std::size_t blocks = text.empty() ? columns : columns - display_width(text) - 1;
  for (std::size_t i = 0; i < blocks; ++i) out += block;
  if (!text.empty()) out += (depth == ColorDepth::ansi16 ? "\x1b[39m " : " ") + std::string(text);
  return out;
}

std::string_view row_end(ColorDepth depth) { return depth == ColorDepth::none ? std::string_view{} : kReset; }

std::string percent(float weight) {
  return number(weight > 0.0F ? static_cast<std::size_t>(std::lround(weight * 100.0F)) : 0);
}

// Two lines where one would be too wide, fewer steps where even that is.
std::string legend(ColorDepth depth, std::size_t columns) {
  static constexpr float kSteps[] = {0.0F, 0.06F, 0.25F, 0.56F, 1.0F};
  static constexpr std::string_view kAxes = "rows: query tokens, columns: key tokens";
  std::string line;
  std::size_t width = 0;
  const std::size_t stride = columns < 46 ? 2 : 1;
  for (std::size_t i = 0; i < std::size(kSteps); i += stride) {
    const std::string text = " " + percent(kSteps[i]) + "%" + (i + 1 < std::size(kSteps) ? "  " : "");
    line += cell(kSteps[i], 2, {}, depth);
    line += row_end(depth);
    line += text;
    width += 2 + text.size();
  }
  if (width > columns) return {};
  constexpr std::string_view kName = "weight ";
  if (width + kName.size() <= columns) {
    line.insert(0, kName);
    width += kName.size();
  }
  if (width + 3 + kAxes.size() <= columns) return line + "   " + std::string(kAxes) + "\n";
  return line + "\n" + (kAxes.size() <= columns ? std::string(kAxes) + "\n" : std::string());
}

class Drawing {
 public:
  Drawing(const AttentionMaps& maps, const HeatmapOptions& options) : maps_(maps), options_(options) {
    for (const MapLabel& label : maps.labels) {
      labels_.push_back(escape_controls(label.text.empty() ? label.piece : label.text));
      if (labels_.back().find_first_not_of(' ') == std::string::npos) labels_.back() = "␠";
    }
    for (const std::string& label : labels_) label_columns_ = std::max(label_columns_, display_width(label));
    label_columns_ = std::min({label_columns_, kLabelColumns, std::max<std::size_t>(options.columns / 3, 1)});
  }

  std::string draw() {
    if (maps_.tokens() == 0) return "no tokens\n";
    if (maps_.layer_count * maps_.head_count <= kFewMaps) {
      for (std::size_t layer = 0; layer < maps_.layer_count; ++layer) {
        for (std::size_t head = 0; head < maps_.head_count; ++head) large(layer, head);
      }
    } else {
      for (std::size_t layer = 0; layer < maps_.layer_count; ++layer) band(layer);
    }
    out_ += legend(options_.color, options_.columns);
    return out_;
  }

 private:
  std::string title(std::size_t layer, std::size_t head) const {
    if (maps_.rolled_out) return "rollout over all layers and heads";
    return "layer " + axis(maps_.layers, layer) + ", head " + axis(maps_.heads, head);
  }
  static std::string axis(const std::vector<std::size_t>& numbers, std::size_t i) {
    return i < numbers.size() ? number(numbers[i]) : "mean";
  }

  // Row labels, and one map with labels across; weights in percent where the cells are wide enough.
  void large(std::size_t layer, std::size_t head) {
    const std::size_t room = options_.columns > label_columns_ + 1 ? options_.columns - label_columns_ - 1 : 1;
    std::size_t widest = 3;
    for (const std::string& label : labels_) widest = std::max(widest, std::min<std::size_t>(display_width(label), 8));
    std::size_t columns = widest + 1;
    if (maps_.tokens() * columns > room) columns = std::clamp<std::size_t>(room / maps_.tokens(), 2, widest + 1);
    const std::size_t shown = std::clamp<std::size_t>(room / columns, 1, maps_.tokens());
    const bool numbers = columns >= 4;

    out_ += fit(title(layer, head), options_.columns) + "\n";
    header(shown, columns);
    for (std::size_t q = 0; q < shown; ++q) {
      out_ += pad_left(labels_[q], label_columns_) + " ";
      const float* row = maps_.map(layer, head) + q * maps_.tokens();
      for (std::size_t k = 0; k < shown; ++k) {
        out_ += cell(row[k], columns, numbers ? percent(row[k]) : std::string(), options_.color);
      }
      out_ += row_end(options_.color);
      out_ += "\n";
    }
    say_cut(shown);
    out_ += "\n";
  }

  // Labels above the columns: across where they fit, else downwards, a character a line.
  void header(std::size_t shown, std::size_t columns) {
    std::size_t widest = 0;
    for (std::size_t k = 0; k < shown; ++k) widest = std::max(widest, display_width(labels_[k]));
    if (columns >= 4 || widest < columns) {
      out_.append(label_columns_ + 1, ' ');
      for (std::size_t k = 0; k < shown; ++k) out_ += pad_left(fit(labels_[k], columns - 1), columns);
      out_ += "\n";
      return;
    }
    constexpr std::size_t kLines = 8;
    std::vector<std::vector<std::string_view>> letters;
    std::size_t lines = 1;
    for (std::size_t k = 0; k < shown; ++k) {
      letters.push_back(graphemes(labels_[k]));
      lines = std::max(lines, std::min(letters.back().size(), kLines));
    }
    for (std::size_t line = 0; line < lines; ++line) {
      out_.append(label_columns_ + 1, ' ');
      for (const auto& word : letters) {
        const std::size_t above = lines - std::min(word.size(), lines);
        const bool cut = word.size() > lines && line + 1 == lines;
        const std::string_view letter = line < above ? std::string_view() : cut ? "…" : word[line - above];
        out_ += pad_right(letter, columns);
      }
      while (out_.back() == ' ') out_.pop_back();
      out_ += "\n";
    }
  }

  // All heads of a layer side by side, a cell one column wide where many tokens must fit, else two.
  void band(std::size_t layer) {
    const std::size_t number_columns = number(maps_.tokens() - 1).size();
    const std::size_t left = number_columns + 1 + label_columns_ + 1;
    const std::size_t room = options_.columns > left ? options_.columns - left : 1;
    const std::size_t shown = std::clamp<std::size_t>(room, 1, maps_.tokens());
    const std::size_t wide = 2 * shown * maps_.head_count + kGap * (maps_.head_count - 1) <= room ? 2 : 1;
    std::size_t map_columns = wide * shown;
    for (std::size_t head = 0; head < maps_.head_count; ++head) {
      map_columns = std::max(map_columns, maps_.name(layer, head).size());
    }
    const std::size_t beside = std::clamp<std::size_t>((room + kGap) / (map_columns + kGap), 1, maps_.head_count);

    for (std::size_t first = 0; first < maps_.head_count; first += beside) {
      const std::size_t last = std::min(first + beside, maps_.head_count);
      out_.append(left, ' ');
      for (std::size_t head = first; head < last; ++head) {
        out_ += pad_right(maps_.name(layer, head), map_columns) + std::string(head + 1 < last ? kGap : 0, ' ');
      }
      trim_line();
      out_.append(left, ' ');
      for (std::size_t head = first; head < last; ++head) {
        std::string digits;
        for (std::size_t k = 0; k < shown; ++k) digits += pad_right(number(k % 10), wide);
        out_ += pad_right(digits, map_columns) + std::string(head + 1 < last ? kGap : 0, ' ');
      }
      trim_line();
      for (std::size_t q = 0; q < shown; ++q) {
        out_ += pad_left(number(q), number_columns) + " " + pad_left(labels_[q], label_columns_) + " ";
        for (std::size_t head = first; head < last; ++head) {
          const float* row = maps_.map(layer, head) + q * maps_.tokens();
          for (std::size_t k = 0; k < shown; ++k) out_ += cell(row[k], wide, {}, options_.color);
          out_ += row_end(options_.color);
          if (head + 1 < last) out_.append(map_columns - wide * shown + kGap, ' ');
        }
        out_ += "\n";
      }
      out_ += "\n";
    }
    if (layer + 1 == maps_.layer_count) say_cut(shown);
  }

  void say_cut(std::size_t shown) {
    if (shown == maps_.tokens()) return;
    const std::string facts = "the first " + number(shown) + " of " + number(maps_.tokens()) + " tokens are shown";
    const std::string advice = "; more fit a wider terminal, or the format html";
    out_ += fit(facts.size() + advice.size() <= options_.columns ? facts + advice : facts, options_.columns) + "\n";
  }

  void trim_line() {
    while (out_.back() == ' ') out_.pop_back();
    out_ += "\n";
  }

  const AttentionMaps& maps_;
  const HeatmapOptions& options_;
  std::vector<std::string> labels_;
  std::size_t label_columns_ = 1;
  std::string out_;
};

}  // namespace

std::string heatmap(const AttentionMaps& maps, const HeatmapOptions& options) { return Drawing(maps, options).draw(); }

}  // namespace mha
