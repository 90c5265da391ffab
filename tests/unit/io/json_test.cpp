#include "io/json.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::parse_json;
using mha::test::error_of;

namespace {

std::string refusal(const std::string& text) {
  return error_of(ErrorKind::model, [&] { parse_json(text, "a.json"); });
}

}  // namespace

TEST_CASE("JSON is read strictly, and a byte order mark is dropped") {
  CHECK(parse_json("\xEF\xBB\xBF{\"a\":[1,{\"a\":2}]}", "a.json").dump() == R"({"a":[1,{"a":2}]})");
  CHECK_THAT(refusal(""), Contains("a.json: expected JSON, got an empty file"));
  CHECK_THAT(refusal(R"({"a":1,"b":{"c":1,"c":2}})"), Contains("a.json: duplicate key \"c\""));
  CHECK_THAT(refusal("{\"a\":1}\n{"), Contains("not valid JSON") && Contains("line 2"));
  CHECK_THAT(refusal("\"\xFF\""), Contains("not valid JSON"));
  CHECK_THAT(refusal("1e999"), Contains("not valid JSON"));
  CHECK_THAT(refusal(std::string("1\0", 2)), Contains("a NUL byte at byte 1"));
}

TEST_CASE("JSON may be nested as deep as the limit and no deeper") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_NOTHROW(parse_json(nested(mha::kJsonDepth), "a.json"));
  CHECK_THAT(refusal(nested(mha::kJsonDepth + 1)), Contains("nested deeper than 128 levels"));
  CHECK_THAT(refusal(std::string(1000000, '[')), Contains("nested deeper than 128 levels"));
}

TEST_CASE("an array of many objects takes time by its length, not by its square") {
  std::string text = "[{}";
  for (int i = 0; i < 300000; ++i) text += ",{}";
  const auto begin = std::chrono::steady_clock::now();
  CHECK(parse_json(text + ']', "a.json").size() == 300001);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}
