#include "output/records.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/utf8.hpp"
#include "output/record_maps.hpp"
#include "output/terminal_text.hpp"
#include "support/temporary_folder.hpp"

using mha::Record;
using mha::RecordFormatter;
using mha::RecordKind;
using mha::RecordSchema;
using mha::test::content_of;
using mha::test::TemporaryFolder;

namespace {

std::shared_ptr<const mha::Tokenizer> words() {
  return mha::Tokenizer::from_words({"<unk>", "caf\u00e9", "a\tb", "\"q\",", "\xC3"}, false, "<unk>", "test");
}

/// Two tokens, "é" cut into nothing else, numbers that are easy to see again.
Record example() {
  Record record;
  record.input.index = 3;
  record.input.id_json = "1.50";
  record.input.text = "caf\u00e9 a\tb";
  record.input.set_place("in.txt: line 4");
  record.encoding.input_ids = {1, 2};
  record.encoding.token_type_ids = {0, 0};
  record.encoding.offsets = {{0, 5}, {6, 9}};
  record.encoding.special_tokens_mask = {0, 1};
  record.encoding.word_ids = {0, 1};
  record.encoding.sequence_ids = {0, 0};
  record.encoding.full_length = 2;
  record.embedding = {0.1F, -2.0F};
  record.d_model = 2;
  record.last_hidden_state = {1, 2, 3, 4};
  record.hidden_states = {5, 6, 7, 8, 1, 2, 3, 4};
  record.attentions = {0.25F, 0.75F, 1, 0};
  return record;
}

RecordSchema schema_of(RecordKind kind, const mha::Tokenizer& tokenizer) {
  RecordSchema schema;
  schema.kind = kind;
  schema.tokenizer = &tokenizer;
  schema.layers = {0};
  schema.heads = {0};
  schema.n_layers = 1;
  schema.d_model = 2;
  schema.embedding_width = 2;
  return schema;
}

std::string written(RecordFormatter& formatter, std::vector<Record> records) {
  const TemporaryFolder folder;
  mha::OutputStream out(folder / "out");
  formatter.begin(out);
  for (Record& record : records) {
    formatter.render(record, record.rendered);
    formatter.join(record, out);
  }
  formatter.end(out);
  out.commit();
  return content_of(folder / "out");
}

std::string written(const std::unique_ptr<RecordFormatter>& formatter, std::vector<Record> records) {
  return written(*formatter, std::move(records));
}

}  // namespace

TEST_CASE("a JSON record holds its keys in the documented order, and reads back to the same numbers") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::encode, *tokenizer);
  schema.parts = {true, true, true, true, true, true};
  schema.name_layers_and_heads = true;
  Record record = example();
  record.input.text_pair = "x";
  record.encoding.full_length = 5;
  record.truncated = true;
  record.input.extra_json = "\"label\":7";
  const auto json = nlohmann::ordered_json::parse(written(mha::json_formatter(schema), {record, record}));
  REQUIRE(json.size() == 2);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json[0].items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"index", "id", "text", "text_pair", "tokens", "input_ids", "token_type_ids",
                                         "special_tokens_mask", "offsets", "truncated", "embedding",
                                         "last_hidden_state", "hidden_states", "attentions", "layers", "heads",
                                         "label"});
  CHECK(json[0]["offsets"].dump() == "[[0,4],[5,8]]");
  CHECK(json[0]["embedding"][0].get<float>() == 0.1F);
  CHECK(json[0]["hidden_states"].dump() == "[[[5,6],[7,8]],[[1,2],[3,4]]]");
  CHECK(json[0]["attentions"].dump() == "[[[[0.25,0.75],[1,0]]]]");
}

TEST_CASE("no records are an empty array, empty lines or a header alone") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::embed, *tokenizer);
  schema.parts.embedding = true;
  CHECK(written(mha::json_formatter(schema), {}) == "[]\n");
  CHECK(written(mha::jsonl_formatter(schema), {}).empty());
  CHECK(written(mha::csv_formatter(schema), {}) == "index,e0,e1\n");
  CHECK(written(mha::raw_formatter(schema), {}).empty());
}

TEST_CASE("pieces that are no UTF-8 never break JSON") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::tokenize, *tokenizer);
  schema.parts.tokens = true;
  Record record = example();
  record.encoding.input_ids = {4, 3};
  const auto json = nlohmann::json::parse(written(mha::jsonl_formatter(schema), {record}));
  CHECK(json["tokens"][0] == "\uFFFD");
  CHECK(json["tokens"][1] == "\"q\",");
}

TEST_CASE("csv quotes, tsv escapes, and a number of digits rounds") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::embed, *tokenizer);
  schema.parts = {.text = true, .embedding = true};
  schema.ids = true;
  schema.digits = 0;
  Record record = example();
  record.input.text = "a,\"b\"\n\tc\\";
  record.input.id_json = "\"x y\"";
  record.input.id_json = R"("a\"b\u00e9,")";
  CHECK_THAT(written(mha::csv_formatter(schema), {record}), Catch::Contains("\n3,\"a\"\"bé,\","));
  record.input.id_json = "\"x y\"";
  CHECK(written(mha::csv_formatter(schema), {record}) == "index,id,text,e0,e1\n3,x y,\"a,\"\"b\"\"\n\tc\\\",0,-2\n");
  CHECK(written(mha::tsv_formatter(schema), {record}) ==
        "index\tid\ttext\te0\te1\n3\tx y\ta,\"b\"\\n\\tc\\\\\t0\t-2\n");
}

TEST_CASE("every csv kind has as many fields a row as its header, error rows included") {
  const auto tokenizer = words();
  for (const RecordKind kind : {RecordKind::embed, RecordKind::encode, RecordKind::attention, RecordKind::tokenize,
                                RecordKind::similarity, RecordKind::decode}) {
    RecordSchema schema = schema_of(kind, *tokenizer);
    schema.parts = {true, true, true, true, true, true};
    schema.ids = true;
    schema.errors = true;
    Record good = example();
    good.input.text = "plain";
    good.encoding.input_ids = {1, 1};
    good.similarity = {0.5F};
    Record bad = good;
    bad.fail("no good");
    const std::string text = written(mha::csv_formatter(schema), {good, bad});
    std::size_t expected = std::string::npos;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      const std::string line = text.substr(begin, end - begin);
      const auto commas = static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
      if (expected == std::string::npos) expected = commas;
      CHECK(commas == expected);
      begin = end + 1;
    }
    CHECK(text.find("in.txt: line 4: no good") != std::string::npos);
  }
}

TEST_CASE("raw is the numbers as they lie in memory, and npy holds them behind its header") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::embed, *tokenizer);
  schema.parts.embedding = true;
  const Record record = example();
  const std::string raw = written(mha::raw_formatter(schema), {record, record});
  REQUIRE(raw.size() == 16);
  float values[4];
  std::memcpy(values, raw.data(), raw.size());
  CHECK(values[0] == 0.1F);
  CHECK(values[3] == -2.0F);
  const std::string npy = written(mha::npy_formatter(schema), {record, record});
  CHECK(npy.find("'shape': (2, 2)") != std::string::npos);
  CHECK(npy.ends_with(raw));
}

TEST_CASE("npy of a single input takes no second one") {
  const auto tokenizer = words();
  RecordSchema schema = schema_of(RecordKind::encode, *tokenizer);
  schema.parts.last_hidden_state = true;
  CHECK(written(mha::npy_formatter(schema), {example()}).find("(2, 2)") != std::string::npos);
  CHECK_THROWS_AS(written(mha::npy_formatter(schema), {example(), example()}), mha::Error);
}

TEST_CASE("tables keep within their width and show no control character") {
  const auto tokenizer = words();
  for (const RecordKind kind :
       {RecordKind::embed, RecordKind::encode, RecordKind::attention, RecordKind::tokenize, RecordKind::similarity}) {
    for (const std::size_t columns : {20U, 40U, 60U, 100U}) {
      RecordSchema schema = schema_of(kind, *tokenizer);
      schema.parts = {true, true, true, true, false, true};
      schema.columns = columns;
      Record record = example();
      record.input.text =
          "caf\u00e9 a\tb \u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587\u4e2d\u6587 \x1b[31m and much more text "
          "behind it";
      record.similarity = {0.5F};
      Record bad = record;
      bad.fail("an error message that is longer than twenty columns");
      const std::string text = written(mha::table_formatter(schema), {record, bad});
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        INFO(line);
        CHECK(mha::utf8::first_invalid(line) == mha::utf8::kValid);
        CHECK(mha::display_width(line) <= columns);
        CHECK(line.find('\x1b') == std::string::npos);
        CHECK(line.find('\t') == std::string::npos);
        begin = end + 1;
      }
    }
  }
}

TEST_CASE("surfaces and offsets of a text behind a prompt count from the prompt's start") {
  const auto tokenizer = words();
  const RecordSchema schema = schema_of(RecordKind::encode, *tokenizer);
  Record record = example();
  const std::string prompt = "\u00fc: ";
  record.prompt = prompt;
  record.encoding.offsets = {{0, 2}, {4, 9}};
  record.encoding.special_tokens_mask = {0, 0};
  CHECK(mha::surface(record, schema, 0) == "\u00fc");
  CHECK(mha::surface(record, schema, 1) == "caf\u00e9");
  const auto offsets = mha::offsets_in(record, mha::OffsetUnit::code_points);
  CHECK(offsets[0] == mha::Span{0, 1});
  CHECK(offsets[1] == mha::Span{3, 7});
  CHECK(mha::offsets_in(record, mha::OffsetUnit::bytes)[1] == mha::Span{4, 9});
}
