#include "io/json_splitter.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_reader.hpp"
#include "support/temporary_folder.hpp"

using mha::Input;
using mha::InputFormat;
using mha::JsonSplitter;
using mha::TextReader;
using mha::test::TemporaryFolder;

namespace {

std::vector<Input> read(const std::string& text) {
  const TemporaryFolder folder;
  TextReader reader = TextReader::from_files({folder.write("in.json", text).string()}, {.format = InputFormat::json});
  std::vector<Input> inputs;
  for (Input input; reader.next(input);) inputs.push_back(input);
  return inputs;
}

std::string texts(const std::string& json) {
  std::string all;
  for (const Input& input : read(json)) all += (input.bad() ? "bad" : input.text) + "|";
  return all;
}

// Values of a text that arrives one byte at a time.
std::vector<std::string> slowly(const std::string& text) {
  JsonSplitter splitter;
  std::vector<std::string> values;
  std::size_t begin = 0;
  for (std::size_t end = 0; end <= text.size(); ++end) {
    for (;;) {
      std::size_t passed = 0;
      const auto next = splitter.find_value(std::string_view(text).substr(begin, end - begin), passed);
      begin += passed;
      if (next != JsonSplitter::Next::value) break;
      const std::string_view rest = std::string_view(text).substr(begin, end - begin);
      const std::size_t length = splitter.value_length(rest, end == text.size());
      if (length == std::string_view::npos) break;
      values.emplace_back(rest.substr(0, length));
      begin += length;
    }
  }
  return values;
}

}  // namespace

TEST_CASE("records of a JSON array, or one behind the other, are read over any number of lines") {
  CHECK(texts(R"([{"text":"a"},{"text":"b"}])") == "a|b|");
  CHECK(texts("\xEF\xBB\xBF[\n  {\n    \"text\": \"a\"\n  },\n  {\"text\": \"b]}\\\"\"}\n]\n") == "a|b]}\"|");
  CHECK(texts("{\"text\":\n\"a\"}{\"text\":\"b\"}\n\n{\"text\":\"c\"}") == "a|b|c|");
  CHECK(texts("") == "");
  CHECK(texts("[]") == "");
  CHECK(texts(" \n ") == "");
}

TEST_CASE("what is no record of a JSON source is a bad input, and nothing of it is dropped in silence") {
  CHECK(texts(R"(["a",{"text":"b"}])") == "bad|b|");
  CHECK(texts(R"([{"text":"a"} {"text":"b"}])") == "a|bad|");
  CHECK(texts(R"([{"text":"a"},])") == "a|bad|");
  CHECK(texts(R"([{"text":"a"}] x)") == "a|bad|");
  CHECK(texts(R"([{"text":"a"},)") == "a|bad|");
  CHECK(texts(R"([{"text":"a"}, {"text":)") == "a|bad|");
  CHECK(texts(R"(}{"text":"a"})") == "bad|a|");
  const auto inputs = read("[\n{\"text\":\"a\"},\n{\"txet\":\"b\"}\n]");
  REQUIRE(inputs.size() == 2);
  CHECK(inputs[1].error.find("line 3") != std::string::npos);
}

TEST_CASE("JSON values are found the same when their bytes arrive one by one") {
  const std::string text = R"([ {"a":"x]\"}"} , [1,[2]],"s, t",12 , true ])";
  CHECK(slowly(text) == std::vector<std::string>{R"({"a":"x]\"}"})", "[1,[2]]", "\"s, t\"", "12", "true"});
}

TEST_CASE("a number that no double holds is no fault if nobody reads it, and is copied as it was written") {
  const TemporaryFolder folder;
  const std::string big(400, '7');
  mha::TextReaderOptions options{.format = InputFormat::jsonl};
  options.pass_through = true;
  const auto file = folder.write("in.jsonl", "{\"x\":1e999,\"text\":\"a 1e999\",\"id\":" + big + "}\n" +
                                                 "{\"text\":\"b\",\"y\":[-1e999,{\"z\":" + big + "}]}\n" +
                                                 "{\"text\":1e999}\n{\"text\":\"c\",\"x\":1e999,}\n");
  TextReader reader = TextReader::from_files({file.string()}, options);
  std::vector<Input> inputs;
  for (Input input; reader.next(input);) inputs.push_back(input);
  REQUIRE(inputs.size() == 4);
  CHECK(inputs[0].error.empty());
  CHECK(inputs[0].text == "a 1e999");
  CHECK(inputs[0].id_json == big);
  CHECK(inputs[0].extra_json == "\"x\":1e999");
  CHECK(inputs[1].error.empty());
  CHECK(inputs[1].extra_json == "\"y\":[-1e999,{\"z\":" + big + "}]");
  CHECK(inputs[2].bad());
  CHECK(inputs[3].bad());
}

TEST_CASE("an array or a record over several lines gets a hint in JSON Lines") {
  const TemporaryFolder folder;
  for (const char* text : {"[{\"text\":\"a\"}]", "{\n\"text\":\"a\"\n}"}) {
    TextReader reader = TextReader::from_files({folder.write("in.jsonl", text).string()});
    Input input;
    REQUIRE(reader.next(input));
    CHECK(input.error.find("input format json") != std::string::npos);
  }
}
