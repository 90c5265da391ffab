#include "core/json_writer.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using mha::JsonWriter;

TEST_CASE("a JSON writer puts commas between members and entries, and nowhere else") {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("empty").begin_object().end_object().key("list").begin_array().end_array();
  json.member("text", "ends in [").member("next", "ends in {").member("last", "a:").member("count", std::size_t{3});
  json.member("flag", true).key("none").null().key("raw").raw("1.50").raw(R"("x":2)");
  json.key("nested").numbers(std::vector<float>{1, 2, 3, 4}, std::array<std::size_t, 2>{2, 2});
  json.key("entries").list(std::vector<int>{-1, 2}, [&](int value) { json.number(value); });
  json.end_object();
  CHECK(out ==
        R"({"empty":{},"list":[],"text":"ends in [","next":"ends in {","last":"a:","count":3,"flag":true,"none":null,)"
        R"("raw":1.50,"x":2,"nested":[[1,2],[3,4]],"entries":[-1,2]})");
  CHECK(nlohmann::json::accept(out));
}

TEST_CASE("a JSON writer starts without a comma behind what the text holds already") {
  std::string out = "before\n";
  JsonWriter(out).begin_array().number(1).number(2).end_array();
  CHECK(out == "before\n[1,2]");
}

TEST_CASE("JSON texts that are not UTF-8 get replacement characters, and numbers the digits that are asked for") {
  std::string out;
  JsonWriter json(out, 2);
  json.begin_array().text("a\xFFz").number(1.23456F).number(0.1F, std::nullopt).end_array();
  CHECK(out == "[\"a\xEF\xBF\xBDz\",1.23,0.1]");
}
