#include "tokenizer/json.hpp"

#include <catch2/catch.hpp>

#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::test::error_of;
using mha::tokenizer::JsonDocument;
using mha::tokenizer::JsonValue;

namespace {

std::string refusal(const std::string& text) {
  return error_of(ErrorKind::model, [&] { JsonDocument::parse(text, "file.json"); });
}

}  // namespace

TEST_CASE("json: values of every kind are read back") {
  const std::string text = R"( {"a": [1, -2, 2.5e2], "b": {"c": null, "d": true}, "e": "x", "": false} )";
  const auto document = JsonDocument::parse(text, "file.json");
  const JsonValue root = document.root();
  std::vector<double> numbers;
  for (const JsonValue element : root.at("a").elements()) numbers.push_back(element.as_double());
  CHECK(numbers == std::vector<double>{1, -2, 250});
  CHECK_FALSE(root.at("b").find("c"));
  CHECK(root.at("b").at("d").as_bool());
  CHECK(root.at("e").as_string() == "x");
  CHECK_FALSE(root.at("").as_bool());
  CHECK(root.size() == 4);
}

TEST_CASE("json: escapes become characters, also outside the basic plane") {
  const std::string text = R"(["\"\\\/\b\f\n\r\t", "\u0041\u00e9\ud83d\ude00", "plain"])";
  const auto document = JsonDocument::parse(text, "file.json");
  std::vector<std::string> strings;
  for (const JsonValue element : document.root().elements()) strings.push_back(element.as_string());
  CHECK(strings == std::vector<std::string>{"\"\\/\b\f\n\r\t", "Aé😀", "plain"});
}

TEST_CASE("json: of two members of one name the last counts") {
  const std::string text = R"({"a": 1, "a": 2})";
  const auto document = JsonDocument::parse(text, "file.json");
  CHECK(document.root().at("a").as_integer(0, 9) == 2);
}

TEST_CASE("json: malformed texts are refused with their place") {
  for (const char* text : {"",   "{",   "[1,]", "[1 2]",   R"({"a"})",    R"({"a":1,})", "{a:1}", "01",  "1.", "-",
                           "1e", "nul", "\"a",  "\"\\x\"", "\"\\u12g4\"", "\"\t\"",      "[]]",   "tru", "+1", ".5"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), Contains("tokenizer: file.json: line 1, column "));
  }
  CHECK_THAT(refusal("{\n  \"a\": ?\n}"), Contains("line 2, column 8"));
  CHECK_THAT(refusal("\"\xff\""), Contains("valid UTF-8"));
  CHECK_THAT(refusal(R"("\ud800")"), Contains("surrogate"));
  CHECK_THAT(refusal(R"("\udc00")"), Contains("surrogate"));
}

TEST_CASE("json: nesting is limited, however deep the text is") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK_NOTHROW(JsonDocument::parse(nested(JsonDocument::kMaxDepth), "file.json"));
  CHECK_THAT(refusal(nested(JsonDocument::kMaxDepth + 1)), Contains("levels of nesting"));
  CHECK_THAT(refusal(std::string(5'000'000, '[')), Contains("levels of nesting"));
}

TEST_CASE("json: a wrong kind is reported with file, path, expected and found") {
  const std::string text = R"({"model": {"vocab": {"a": 1, "b": "x"}, "list": [[0], [1.5]]}})";
  const auto document = JsonDocument::parse(text, "dir/tokenizer.json");
  const JsonValue model = document.root().at("model");
  CHECK(error_of(ErrorKind::model, [&] { model.at("vocab").at("b").as_integer(0, 7); }) ==
        "tokenizer: dir/tokenizer.json: model.vocab.b: expected an integer from 0 to 7, got a string");
  for (const JsonValue row : model.at("list").elements()) {
    for (const JsonValue value : row.elements()) {
      if (value.as_double() == 0) continue;
      CHECK(error_of(ErrorKind::model, [&] { value.as_integer(0, 7); }) ==
            "tokenizer: dir/tokenizer.json: model.list[1][0]: expected an integer from 0 to 7, got 1.5");
    }
  }
  CHECK(error_of(ErrorKind::model, [&] { model.at("merges"); }) ==
        "tokenizer: dir/tokenizer.json: model: expected the key \"merges\", got none");
}

TEST_CASE("json: integers out of their range are refused, however long they are") {
  const std::string text = R"([-1, 8, 99999999999999999999999999])";
  const auto document = JsonDocument::parse(text, "file.json");
  for (const JsonValue value : document.root().elements()) {
    CHECK_THAT(error_of(ErrorKind::model, [&] { value.as_integer(0, 7); }), Contains("an integer from 0 to 7"));
  }
}
