#include "output/heatmap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <sstream>

#include "output/terminal_text.hpp"
#include "support/attention_example.hpp"

namespace {

std::string without_colors(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

TEST_CASE("widths are those of a terminal: wide characters, emoji, marks and joiners") {
  CHECK(mha::display_width("abc") == 3);
  CHECK(mha::display_width("中文") == 4);
  CHECK(mha::display_width("e\u0301") == 1);
  CHECK(mha::display_width("👩\u200d🚀") == 2);
  CHECK(mha::display_width("❤\ufe0f") == 2);
  CHECK(mha::fit("中文字", 4) == "中…");
  CHECK(mha::fit("abc", 0).empty());
  CHECK(mha::pad_left("é", 3) == "  é");
  CHECK(mha::pad_right("中", 3) == "中 ");
  CHECK(mha::escape_controls("a\x1b[31m\n\u202e") == "a\\u{1b}[31m\\n\\u{202e}");
}

TEST_CASE("no line of a heatmap is wider than asked for, whatever the tokens, maps and colours") {
  const std::vector<std::string> odd{
      "she", "中文字", "👩\u200d🚀", "e\u0301le\u0300ve", "a\nb", "a-very-long-token-indeed"};
  for (const std::size_t tokens : {0U, 1U, 6U, 30U, 200U}) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < tokens; ++i) words.push_back(odd[i % odd.size()]);
    for (const auto& [layers, heads] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 2}, {3, 12}}) {
      const auto maps = mha::test::example_maps(words, layers, heads);
      for (const std::size_t columns : {40U, 60U, 80U, 120U, 200U}) {
        for (const auto color :
             {mha::ColorDepth::none, mha::ColorDepth::ansi16, mha::ColorDepth::ansi256, mha::ColorDepth::truecolor}) {
          std::istringstream lines(without_colors(mha::heatmap(maps, {columns, color})));
          for (std::string line; std::getline(lines, line);) REQUIRE(mha::display_width(line) <= columns);
        }
      }
    }
  }
}

TEST_CASE("one map shows labels and weights in percent, a cut input says so, colours end on each line") {
  auto maps = mha::test::example_maps({"she", "leads"}, 1, 1);
  const std::string plain = mha::heatmap(maps, {80, mha::ColorDepth::none});
  CHECK(plain.find("she") != std::string::npos);
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(plain.find("100%") != std::string::npos);
  const std::string color = mha::heatmap(maps, {80, mha::ColorDepth::truecolor});
  std::istringstream lines(color);
  for (std::string line; std::getline(lines, line);) {
    if (line.find('\x1b') != std::string::npos) CHECK(line.rfind("\x1b[0m") > line.rfind("48;2"));
  }
  const auto large = mha::test::example_maps(std::vector<std::string>(100, "word"), 1, 1);
  CHECK(mha::heatmap(large, {60, mha::ColorDepth::none}).find("of 102 tokens") != std::string::npos);
}

TEST_CASE("weights that are no numbers are drawn as 0") {
  auto maps = mha::test::example_maps({"she", "leads"}, 1, 1);
  for (const auto color :
       {mha::ColorDepth::none, mha::ColorDepth::ansi16, mha::ColorDepth::ansi256, mha::ColorDepth::truecolor}) {
    std::fill(maps.weights.begin(), maps.weights.end(), 0.0F);
    const std::string zeros = mha::heatmap(maps, {80, color});
    std::fill(maps.weights.begin(), maps.weights.end(), std::numeric_limits<float>::quiet_NaN());
    CHECK(mha::heatmap(maps, {80, color}) == zeros);
  }
}
