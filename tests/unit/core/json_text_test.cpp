#include "core/json_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mha/core/error.hpp"

TEST_CASE("any text survives as a JSON string, and only what must be escaped is") {
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "é😀\u2028\u0085";
  std::string text;
  mha::append_json_string(text, all);
  CHECK(nlohmann::json::parse(text).get<std::string>() == all);
  std::string appended(1, 'x');
  mha::append_json_string(appended, "a\"b\\c\n\x01é/");
  CHECK(appended == "x\"a\\\"b\\\\c\\n\\u0001é/\"");
}

TEST_CASE("a JSON array holds each float in its shortest text, or rounded") {
  const std::vector<float> values{0.1F, -2, 1e-10F};
  std::string text;
  mha::append_json_array(text, values);
  mha::append_json_array(text, {});
  mha::append_json_array(text, values, 2);
  CHECK(text == "[0.1,-2,1e-10][][0.1,-2,0]");
  CHECK_THROWS_AS(mha::append_json_array(text, std::vector<float>{1e38F * 10}), mha::Error);
}
