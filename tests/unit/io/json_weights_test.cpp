#include "io/json_weights.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "io/output_stream.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::JsonModel;
using mha::test::error_of;

namespace {

std::string with_weights(const std::string& weights) {
  return R"({"format":"mha-json","version":1,"config":{},"weights":)" + weights + "}";
}

std::vector<float> floats_of(const JsonModel& model, const char* name) {
  const mha::TensorView* view = model.find(name);
  REQUIRE(view != nullptr);
  std::vector<float> values(view->size());
  if (!values.empty()) std::memcpy(values.data(), view->data, view->bytes());
  return values;
}

std::string error_in(const std::string& text) {
  const std::string message = error_of(ErrorKind::model, [&] { JsonModel::parse(text, "m.json"); });
  CHECK_THAT(message, Contains("m.json: "));
  return message;
}

std::string weights_error(const std::string& weights) { return error_in(with_weights(weights)); }

}  // namespace

TEST_CASE("a JSON model gives its config and tokenizer as written and its weights by name") {
  JsonModel read = JsonModel::parse(
      R"( {"weights" : {"b.bias":[1,-2.5,1e-3], "a": [ [ [1,2],[3,4] ] ], "none": [], "rows": [[],[]]},
          "tokenizer": {"type": "words", "vocab": ["<unk>", "she\u0041"], "x": {"y": [[], 1.50]}},
          "version": 1, "config": {"d_model":  8},"format":"mha-json"} )",
      "m.json");
  const JsonModel model = std::move(read);
  CHECK(model.config_json() == R"({"d_model":  8})");
  CHECK(model.tokenizer_json() == R"({"type": "words", "vocab": ["<unk>", "she\u0041"], "x": {"y": [[], 1.50]}})");
  CHECK(model.names() == std::vector<std::string>{"a", "b.bias", "none", "rows"});
  CHECK(floats_of(model, "b.bias") == std::vector<float>{1, -2.5F, 1e-3F});
  CHECK(model.find("a")->shape == std::vector<std::size_t>{1, 2, 2});
  CHECK(floats_of(model, "a") == std::vector<float>{1, 2, 3, 4});
  CHECK(model.find("none")->shape == std::vector<std::size_t>{0});
  CHECK(model.find("rows")->shape == std::vector<std::size_t>{2, 0});
  CHECK(model.find("c") == nullptr);
  CHECK(JsonModel::parse(with_weights("{}"), "m.json").tokenizer_json().empty());
}

TEST_CASE("numbers of a JSON model become the nearest float32") {
  const JsonModel model = JsonModel::parse(
      with_weights(
          R"({"x":[0.1,1e-50,-1e-45,-0,-0.0,16777217,18446744073709551615,340282346638528859811704183484516925440]})"),
      "m.json");
  const std::vector<float> values = floats_of(model, "x");
  CHECK(values[0] == 0.1F);
  CHECK(values[1] == 0);
  CHECK(values[2] == -std::numeric_limits<float>::denorm_min());
  CHECK(std::signbit(values[3]));
  CHECK(std::signbit(values[4]));
  CHECK(values[5] == 16777216.0F);
  CHECK(values[6] == 18446744073709551616.0F);
  CHECK(values[7] == std::numeric_limits<float>::max());
}

TEST_CASE("a wrong array of a JSON model is named with its path, expected and found") {
  CHECK_THAT(weights_error(R"({"a.b":[[1,2],[3]]})"),
             Contains(R"(weights["a.b"][1]: ragged: expected 2 values)") && Contains("got 1"));
  CHECK_THAT(weights_error(R"({"a":[[[1],[2]],[[3]]]})"), Contains(R"(weights["a"][1]: ragged: expected 2)"));
  CHECK_THAT(weights_error(R"({"a":[[],[1]]})"), Contains(R"(weights["a"][1]: ragged: expected 0)"));
  CHECK_THAT(weights_error(R"({"a":[[1],[]]})"), Contains("ragged"));
  CHECK_THAT(weights_error(R"({"a":[1,[2]]})"), Contains(R"(weights["a"][1]: expected a number, got an array)"));
  CHECK_THAT(weights_error(R"({"a":[[1],2]})"), Contains(R"(weights["a"][1]: expected an array, got a number)"));
  CHECK_THAT(weights_error(R"({"a":[[1,null]]})"), Contains(R"(weights["a"][0][1]: expected a number, got null)"));
  CHECK_THAT(weights_error(R"({"a":[[1,"2"]]})"), Contains(R"(weights["a"][0][1]: expected a number, got a string)"));
  CHECK_THAT(weights_error(R"({"a":[true]})"), Contains(R"(weights["a"][0]: expected a number, got a boolean)"));
  CHECK_THAT(weights_error(R"({"a":[{}]})"), Contains(R"(weights["a"][0]: expected a number, got an object)"));
  CHECK_THAT(weights_error(R"({"a":[0,1e39]})"), Contains(R"(weights["a"][1])") && Contains("finite"));
  CHECK_THAT(weights_error(R"({"a":[0,1e400]})"), Contains(R"(weights["a"][1])"));
  CHECK_THAT(weights_error(R"({"a":[0,NaN]})"), Contains(R"(weights["a"][1])"));
  CHECK_THAT(weights_error(R"({"a":5})"), Contains(R"(weights["a"]: expected nested arrays of numbers, got a number)"));
  CHECK_THAT(weights_error(R"({"a":{"b":[1]}})"), Contains(R"(weights["a"]: expected nested arrays)"));
  CHECK_THAT(weights_error(R"({"a":null})"), Contains(R"(weights["a"])"));
  CHECK_THAT(weights_error(R"({"a":[1],"a":[1]})"), Contains("duplicate key \"a\""));
  CHECK_THAT(weights_error(R"({"a":)" + std::string(60000, '[')), Contains("nested deeper than 8"));
  CHECK_THAT(weights_error("[]"), Contains("weights: expected an object, got an array"));
  CHECK_THAT(weights_error("7"), Contains("weights: expected an object, got a number"));
}

TEST_CASE("a JSON model with wrong keys around the weights is refused") {
  CHECK_THAT(error_in(""), Contains("not valid JSON"));
  CHECK_THAT(error_in("[]"), Contains("expected an mha-json object, got an array"));
  CHECK_THAT(error_in("7"), Contains("got a number"));
  CHECK_THAT(error_in("{}"), Contains("got no key \"format\""));
  CHECK_THAT(error_in(R"({"format":"mha-json","version":1,"config":{}})"), Contains("got no key \"weights\""));
  CHECK_THAT(error_in(R"({"format": "mha-json", "version": 1, "config": {})"), Contains("not valid JSON"));
  CHECK_THAT(error_in(R"({"format":"other"})"), Contains(R"(format: expected "mha-json", got "other")"));
  CHECK_THAT(error_in(R"({"format":1})"), Contains("format: expected"));
  CHECK_THAT(error_in(R"({"version":2})"), Contains("version: expected 1, got 2"));
  CHECK_THAT(error_in(R"({"version":"1"})"), Contains("version: expected 1, got a string"));
  CHECK_THAT(error_in(R"({"version":1.0})"), Contains("version: expected 1"));
  CHECK_THAT(error_in(R"({"config":[]})"), Contains("config: expected an object, got an array"));
  CHECK_THAT(error_in(R"({"tokenizer":null})"), Contains("tokenizer: expected an object, got null"));
  CHECK_THAT(error_in(R"({"extra":1})"), Contains("unknown key \"extra\""));
  CHECK_THAT(error_in(R"({"config":{},"config":{}})"), Contains("duplicate key \"config\""));
  CHECK_THAT(error_in(with_weights("{}") + " x"), Contains("not valid JSON"));
  CHECK_THAT(error_in(with_weights("{}") + std::string(1, '\0')), Contains("NUL"));
  CHECK_THAT(error_in("{\"config\":{\"\xFF\":1}}"), Contains("not valid JSON"));
  CHECK_THAT(error_in(R"({"config":{"a":)" + std::string(60000, '[')), Contains("config: nested deeper"));
  const mha::test::TemporaryFolder folder;
  CHECK_THAT(error_of(ErrorKind::model, [&] { JsonModel::read(folder / "gone.json"); }), Contains("gone.json"));
}

TEST_CASE("a JSON model that is written reads back with the same bits") {
  const mha::test::TemporaryFolder folder;
  std::mt19937 random(5);
  std::vector<float> values(600);
  for (float& value : values) {
    do {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    } while (!std::isfinite(value));
  }
  values[0] = -0.0F;
  {
    mha::OutputStream out(folder / "m.json");
    mha::JsonModelWriter writer(out, R"({"d_model": 3})", "");
    writer.add("a", std::vector<std::size_t>{20, 10, 3}, values);
    writer.add("b", std::vector<std::size_t>{600}, values);
    writer.add("empty", std::vector<std::size_t>{0, 4}, {});
    writer.finish();
    out.commit();
  }
  const JsonModel model = JsonModel::read(folder / "m.json");
  CHECK(model.config_json() == R"({"d_model": 3})");
  CHECK(model.find("a")->shape == std::vector<std::size_t>{20, 10, 3});
  for (const char* name : {"a", "b"}) {
    const std::vector<float> back = floats_of(model, name);
    CHECK(std::memcmp(back.data(), values.data(), values.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("a value that is not finite is not written into a JSON model") {
  const mha::test::TemporaryFolder folder;
  mha::OutputStream out(folder / "m.json");
  mha::JsonModelWriter writer(out, "{}", "");
  const std::vector<float> values{1, std::numeric_limits<float>::infinity()};
  CHECK_THAT(error_of(ErrorKind::model, [&] { writer.add("some.weight", std::vector<std::size_t>{2}, values); }),
             Contains("some.weight"));
}
