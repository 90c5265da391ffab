#include "serve/json_body.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "serve/api_error.hpp"

namespace {

using mha::serve::ApiError;
using mha::serve::Fields;
using mha::serve::parse_body;
using nlohmann::json;

/// Status and message of what the call throws.
template <class Call>
ApiError error_of(Call call) {
  try {
    call();
  } catch (const ApiError& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("bodies: what is valid reads as the library reads it") {
  for (const char* text : {R"({"a":[1,-2,3.5,"x",null,true,{"b":[]},[[],{}]],"c":{"d":{"e":"\u00e9\ud83d\ude00"}}})",
                           "[]", "\"s\"", "7", "[[1,2],[3,[4]],5]", R"({"a":{},"b":[{"c":1},{"c":2}]})", " null "}) {
    CHECK(parse_body(text) == json::parse(text));
  }
}

TEST_CASE("bodies: what is not valid is refused with its reason") {
  const auto refused = [](std::string_view text, const char* why) {
    const ApiError error = error_of([&] { parse_body(text); });
    CHECK(error.status == 400);
    CAPTURE(std::string(text.substr(0, 40)), error.message);
    CHECK(error.message.find(why) != std::string::npos);
  };
  refused("", "got nothing");
  refused("{", "not valid JSON");
  refused("[1,]", "not valid JSON");
  refused("[1] 2", "not valid JSON");
  refused(R"({"a":1,"a":2})", "stands twice");
  refused(R"([{"a":1,"b":{"a":1,"a":2}}])", "stands twice");
  refused("[1e400]", "number");
  refused("[NaN]", "not valid JSON");
  refused("\"\\ud800\"", "surrogate");
  refused("\"\xff\"", "UTF-8");
  refused(std::string_view("[\0]", 3), "NUL");
  refused(std::string(1000000, '['), "nested deeper");
  std::string objects;
  for (int i = 0; i < 100; ++i) objects += "{\"a\":";
  refused(objects, "nested deeper");
}

TEST_CASE("bodies: fields name their place") {
  const json body =
      json::parse(R"({"text":5,"flag":"yes","count":1.5,"large":18446744073709551615,"word":"x","list":["a",1]})");
  Fields fields(body, "parameters.");
  const auto place = [&](auto call) { return error_of(call).place; };
  CHECK(place([&] { fields.text("text"); }) == "parameters.text");
  CHECK(place([&] { fields.flag("flag"); }) == "parameters.flag");
  CHECK(place([&] { fields.integer("count", 0, 9); }) == "parameters.count");
  CHECK(place([&] { fields.integer("large", 0, 9); }) == "parameters.large");
  CHECK(place([&] { fields.choice("word", {"a", "b"}); }) == "parameters.word");
  CHECK(place([&] { fields.texts("list"); }) == "parameters.list[1]");
  CHECK(place([&] { fields.require("none", "a string"); }) == "parameters.none");
  CHECK(fields.unread().empty());
  Fields others(body);
  others.find("text");
  CHECK(others.unread().size() == 5);
  CHECK(error_of([&] { others.require_all_read(); }).status == 422);
}

TEST_CASE("bodies: inputs in every form") {
  const auto read = [](const char* text) {
    json value = json::parse(text);
    return mha::serve::read_inputs(value, "inputs", 3);
  };
  CHECK(read("\"a\"").single);
  CHECK(read("[1,2,3,4,5]").single);
  CHECK(read("[1,2]").list.at(0).ids == std::vector<std::int32_t>{1, 2});
  CHECK(read("[\"a\",\"b\"]").list.size() == 2);
  CHECK_FALSE(read("[\"a\"]").single);
  CHECK(read("[[1],\"b\",[2,3]]").list.at(2).ids.size() == 2);
  const auto status = [&](const char* text) { return error_of([&] { read(text); }).status; };
  CHECK(status("[]") == 400);
  CHECK(status("\"\"") == 400);
  CHECK(status("[\"a\",[]]") == 400);
  CHECK(status("[\"a\",1]") == 422);
  CHECK(status("[1,\"a\"]") == 422);
  CHECK(status("[-1]") == 422);
  CHECK(status("[4294967296]") == 422);
  CHECK(status("{}") == 422);
  CHECK(status("[\"a\",\"b\",\"c\",\"d\"]") == 422);
}
