#include <catch2/catch.hpp>
#include <cstring>

#include "output/html.hpp"
#include "output/picture.hpp"
#include "output/picture_files.hpp"
#include "support/attention_example.hpp"

namespace {

const mha::InputFacts kFacts{"x < y </script><img src=x> & \"z\"", std::nullopt, "a model"};

mha::AttentionMaps hostile_maps(std::size_t layers, std::size_t heads, std::size_t repeat = 1) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < repeat; ++i) words.insert(words.end(), {"<b>", "</script>", "&\"'", "\x01", "%META%"});
  return mha::test::example_maps(words, layers, heads);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("input text cannot add markup to the page") {
  const std::string page = mha::attention_html(hostile_maps(1, 2), kFacts);
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "<b>") == 0);
  CHECK(count(page, "</script>") == 3);
  CHECK(count(page, "%WEIGHTS%") == 0);
  CHECK(count(page, "http://") == 1);  // the name of the SVG namespace
}

TEST_CASE("twelve layers of twelve heads over 128 tokens stay under eight megabytes") {
  const auto maps = mha::test::example_maps(std::vector<std::string>(126, "word"), 12, 12);
  CHECK(mha::attention_html(maps, kFacts).size() < 8'000'000);
}

TEST_CASE("the SVG has a rectangle a cell for small maps and an image for large ones, the same bytes each time") {
  const auto maps = hostile_maps(1, 1);
  const std::string svg = mha::attention_svg(maps, kFacts);
  CHECK(count(svg, "<rect") > maps.tokens() * maps.tokens());
  CHECK(count(svg, "<b>") == 0);
  CHECK(svg.find('\x01') == std::string::npos);
  CHECK(svg == mha::attention_svg(maps, kFacts));
  CHECK(count(mha::attention_svg(hostile_maps(1, 2, 20), kFacts), "<image") == 2);
}

TEST_CASE("a picture is as wide as the line that names model and axes") {
  const mha::InputFacts facts{"a b", std::nullopt, "a-model-with-a-long-name"};
  const mha::Picture picture = mha::attention_picture(mha::test::example_maps({"a", "b"}, 1, 1), facts);
  for (const mha::Picture::Text& text : picture.texts) {
    if (text.anchor != mha::Picture::Text::Anchor::begin || text.rotation != 0) continue;
    CHECK(text.x + 0.6 * text.size * static_cast<double>(text.text.size()) <= picture.width);
  }
}

TEST_CASE("the PNG is whole and the same bytes each time") {
  const auto maps = hostile_maps(2, 2);
  const std::string png = mha::attention_png(maps, kFacts);
  CHECK(std::memcmp(png.data(), "\x89PNG\r\n\x1a\n", 8) == 0);
  CHECK(png.substr(png.size() - 8, 4) == "IEND");
  CHECK(png == mha::attention_png(maps, kFacts));
}
