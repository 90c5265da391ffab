#include "io/safetensors.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "ops/convert.hpp"
#include "support/safetensors_text.hpp"
#include "support/shared.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using namespace std::string_literals;
using Catch::Contains;
using mha::ErrorKind;
using mha::SafetensorsFile;
using mha::test::error_of;
using mha::test::float_bytes;
using mha::test::safetensors_bytes;
using mha::test::TemporaryFolder;

namespace {

const std::string kTwo =
    R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[3],"data_offsets":[16,28]}})";

std::vector<float> floats_of(const SafetensorsFile& file, const char* name) {
  const mha::TensorView* view = file.find(name);
  REQUIRE(view != nullptr);
  std::vector<float> values(view->size());
  mha::to_float32(*view, 0, values.size(), values.data());
  return values;
}

// The message for a file with this header and `data_bytes` bytes of data.
std::string header_error(const std::string& header, std::size_t data_bytes = 0) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.safetensors", safetensors_bytes(header, std::string(data_bytes, '\0')));
  const std::string message = error_of(ErrorKind::model, [&] { SafetensorsFile file(path); });
  CHECK_THAT(message, Contains(path.string()));
  return message;
}

std::string file_error(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.safetensors", bytes);
  const std::string message = error_of(ErrorKind::model, [&] { SafetensorsFile file(path); });
  CHECK_THAT(message, Contains(path.string()));
  return message;
}

void accept(const std::string& header, const std::string& data) {
  const TemporaryFolder folder;
  const SafetensorsFile file(folder.write("model.safetensors", safetensors_bytes(header, data)));
  for (const std::string& name : file.names()) CHECK(file.find(name) != nullptr);
}

}  // namespace

TEST_CASE("a shape of absurdly many extents is told in a short message") {
  std::string extents = "1";
  for (int i = 1; i < 100000; ++i) extents += ",1";
  const std::string message =
      header_error(R"({"a":{"dtype":"F32","shape":[)" + extents + R"(],"data_offsets":[0,8]}})", 8);
  CHECK_THAT(message, Contains("1,1,… 100000 extents] of F32: expected 4 bytes"));
  CHECK(message.size() < 500);
}

TEST_CASE("a safetensors file gives its tensors by name, in any header order, at any alignment") {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "m.safetensors",
      safetensors_bytes(
          R"({"b":{"dtype":"F32","shape":[3],"data_offsets":[17,29]},"odd":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
          R"("__metadata__":{"format":"pt"},"a":{"shape":[2,2],"data_offsets":[1,17],"dtype":"F32"}}   )",
          "x" + float_bytes(7)));
  SafetensorsFile opened(path);
  const SafetensorsFile file = std::move(opened);
  CHECK(file.names() == std::vector<std::string>{"a", "b", "odd"});
  CHECK(file.find("a")->shape == std::vector<std::size_t>{2, 2});
  CHECK(floats_of(file, "a") == std::vector<float>{0, 1, 2, 3});
  CHECK(floats_of(file, "b") == std::vector<float>{4, 5, 6});
  CHECK(file.find("c") == nullptr);
  CHECK(file.find("") == nullptr);
  CHECK(file.metadata() == mha::SafetensorsMetadata{{"format", "pt"}});
}

TEST_CASE("legal safetensors files are accepted") {
  accept("{}", "");
  accept("{}     ", "");
  accept("{\n}\n   ", "");
  accept(R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", float_bytes(1));
  accept(
      R"({"e":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]},"f":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      float_bytes(1));
  accept("{\r\n\t \"a\" : {\n\"dtype\":\"F32\" , \"shape\" : [ 1 ],\"data_offsets\":[0 , 4]}\n}  ", float_bytes(1));
  accept(
      R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"F4","shape":[2,4],"data_offsets":[4,8]}})",
      float_bytes(2));
  accept(
      R"({"\u0061\ud83d\ude00\n":{"dtype":"I64","shape":[1],"data_offsets":[0,8],"later":{"x":[1,{"y":null}]},"z":-1.5}})",
      float_bytes(2));
  accept(R"({"__metadata__":{}})", "");
  accept(R"({"__metadata__":null})", "");
}

TEST_CASE("a safetensors file that is no such file says what it is") {
  CHECK_THAT(file_error(""), Contains("empty file"));
  CHECK_THAT(file_error("1234567"), Contains("got 7") && Contains("incomplete download?"));
  CHECK_THAT(file_error("version https://git-lfs.github.com/spec/v1\noid sha256:00aa\nsize 90868376\n"),
             Contains("Git LFS pointer"));
  CHECK_THAT(file_error("\n <!DOCTYPE html><html>"), Contains("HTML"));
  CHECK_THAT(file_error("<html>"), Contains("HTML"));
  CHECK_THAT(file_error("PK\x03\x04 and more bytes"), Contains("zip"));
  CHECK_THAT(file_error("GGUF\x03and more bytes"), Contains("GGUF"));
  CHECK_THAT(file_error("{\"error\": \"not found\"}"), Contains("JSON"));
  const TemporaryFolder folder;
  CHECK_THAT(error_of(ErrorKind::model, [&] { SafetensorsFile file(folder.path()); }), Contains("folder"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { SafetensorsFile file(folder / "gone"); }), Contains("no such file"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { SafetensorsFile file("/dev/zero"); }), Contains("regular file"));
}

TEST_CASE("an absurd header length is refused before anything is allocated") {
  const std::string data = float_bytes(7);
  for (const std::uint64_t length :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, kTwo.size() - 1, kTwo.size() + 1, std::size_t{30720},
        std::uint64_t{100000000}, std::uint64_t{100000001}, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
        std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    INFO(length);
    CHECK_THAT(file_error(safetensors_bytes(kTwo, data, length)), Contains("header"));
  }
  CHECK_THAT(file_error(std::string(4096, '\0')), Contains("header"));
  CHECK_THAT(file_error(safetensors_bytes(kTwo, data, __builtin_bswap64(kTwo.size()))), Contains("header"));
}

TEST_CASE("every cut of a safetensors file is refused with the bytes expected and found") {
  const std::string whole = safetensors_bytes(kTwo, float_bytes(7));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message = file_error(whole.substr(0, size));
    if (size >= 8 + kTwo.size()) {
      CHECK_THAT(message, Contains("expected " + std::to_string(whole.size()) + " bytes") &&
                              Contains("has " + std::to_string(size)) && Contains("incomplete download?"));
    }
  }
  CHECK_THAT(file_error(whole + "PK\x03\x04"), Contains("trailing") && Contains("4 bytes belong to no tensor"));
  CHECK_THAT(file_error(whole + "\n"), Contains("trailing"));
}

TEST_CASE("a header that is not one JSON object is refused") {
  CHECK_THAT(header_error("[1,2]  "), Contains("header"));
  CHECK_THAT(header_error("7"), Contains("header"));
  CHECK_THAT(header_error("null"), Contains("header"));
  CHECK_THAT(header_error(" {}"), Contains("header"));
  CHECK_THAT(header_error("\xEF\xBB\xBF{}"), Contains("header"));
  CHECK_THAT(header_error("{}{}"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{} x }"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{}\v"), Contains("padding"));
  CHECK_THAT(header_error("{}\0"s), Contains("NUL"));
  CHECK_THAT(header_error("{\0}"s), Contains("NUL"));
  CHECK_THAT(header_error("{/* */}"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{'a':1}"), Contains("not valid JSON"));
  CHECK_THAT(header_error(kTwo.substr(0, 40) + "}"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{\"a\nb\":{}}"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{\"\\ud800\":{}}"), Contains("not valid JSON"));
  CHECK_THAT(header_error("{\"\xFF\xFE\":{}}"), Contains("not valid JSON"));
  CHECK_THAT(header_error(std::string(20000, '{') + std::string(20000, '}')), Contains("not valid JSON"));
  std::string deep = "{";
  for (int i = 0; i < 20000; ++i) deep += "\"a\":{";
  CHECK_THAT(header_error(deep + std::string(20001, '}')), Contains("deeper") || Contains("missing"));
  const std::string nested = std::string(60000, '[') + std::string(60000, ']');
  CHECK_THAT(header_error(R"({"__metadata__":{"k":)" + nested + "}}"), Contains("expected a string"));
  CHECK_THAT(header_error(R"({"a":{"x":)" + nested + "}}"), Contains("nested deeper"));
}

TEST_CASE("a key that stands twice is refused") {
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  CHECK_THAT(header_error(R"({"k":)" + entry + R"(,"k":)" + entry + "}", 4), Contains("duplicate key \"k\""));
  CHECK_THAT(header_error(R"({"k":)" + entry + R"(,"\u006b":)" + entry + "}", 4), Contains("duplicate key \"k\""));
  CHECK_THAT(header_error(R"({"__metadata__":{},"__metadata__":{}})"), Contains("duplicate"));
  CHECK_THAT(header_error(R"({"__metadata__":{"a":"1","a":"2"}})"), Contains("duplicate"));
  CHECK_THAT(header_error(R"({"k":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
             Contains("duplicate key \"dtype\""));
  CHECK_THAT(header_error(R"({"k":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", 4),
             Contains("duplicate"));
}

TEST_CASE("every field of a tensor's entry is checked, and the message names the tensor") {
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "-1",
                                           "-0",
                                           "1.0",
                                           "1.5",
                                           "1e2",
                                           "1e400",
                                           "\"\"",
                                           "\"1\"",
                                           "[]",
                                           "[1.0]",
                                           "{}",
                                           "[[1]]",
                                           "[null]",
                                           "[\"1\"]",
                                           "[-1]",
                                           "[{}]",
                                           "7",
                                           "18446744073709551616",
                                           "[18446744073709551616]",
                                           "[1e30]",
                                           "[true]"};
  for (const std::string& value : values) {
    INFO(value);
    CHECK_THAT(header_error(R"({"tensor.name":)" + value + "}", 4),
               Contains("tensor.name") || Contains("not valid JSON"));
    CHECK_THAT(header_error(R"({"tensor.name":{"dtype":)" + value + R"(,"shape":[1],"data_offsets":[0,4]}})", 4),
               Contains("tensor.name") || Contains("not valid JSON"));
    CHECK_THAT(header_error(R"({"tensor.name":{"dtype":"F32","shape":[2],"data_offsets":)" + value + "}}", 4),
               Contains("tensor.name") || Contains("not valid JSON"));
    CHECK_THAT(header_error(R"({"__metadata__":{"k":)" + (value.front() == '"' ? "[" + value + "]" : value) + "}}"),
               Contains("__metadata__") || Contains("not valid JSON"));
    // null says that there is no metadata.
    if (value != "null")
      CHECK_THAT(header_error(R"({"__metadata__":)" + (value == "{}" ? "{\"a\":{}}" : value) + "}"),
                 Contains("__metadata__") || Contains("not valid JSON"));
    CHECK_THAT(header_error(R"({"tensor.name":{"dtype":"F32","shape":)" + value + R"(,"data_offsets":[0,8]}})", 8),
               Contains("tensor.name") || Contains("not valid JSON"));
  }
  CHECK_THAT(header_error(R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4), Contains("dtype is missing"));
  CHECK_THAT(header_error(R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4), Contains("shape is missing"));
  CHECK_THAT(header_error(R"({"t":{"dtype":"F32","shape":[1]}})", 4), Contains("data_offsets is missing"));
  for (const char* dtype : {"f32", "F7", "", "F32 ", "FLOAT", "complex"}) {
    CHECK_THAT(header_error(R"({"t":{"dtype":")" + std::string(dtype) + R"(","shape":[1],"data_offsets":[0,4]}})", 4),
               Contains("unknown dtype \"" + std::string(dtype) + "\""));
  }
}

TEST_CASE("shapes and offsets that overflow, overlap or leave a hole are refused") {
  const auto entry = [](const std::string& shape, const std::string& offsets) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  CHECK_THAT(header_error(entry("[4294967296,4294967296]", "[0,0]")), Contains("larger than any file"));
  CHECK_THAT(header_error(entry("[4611686018427387906]", "[0,8]"), 8), Contains("larger than any file"));
  CHECK_THAT(header_error(entry("[9223372036854775809,2,4]", "[0,32]"), 32), Contains("larger than any file"));
  CHECK_THAT(header_error(entry("[2305843009213693952]", "[0,0]")), Contains("larger than any file"));
  CHECK_THAT(header_error(entry("[18446744073709551615]", "[0,8]"), 8), Contains("larger than any file"));
  CHECK_THAT(header_error(entry("[9]", "[0,32]"), 32), Contains("expected 36 bytes") && Contains("hold 32"));
  CHECK_THAT(header_error(entry("[8]", "[0,36]"), 36), Contains("expected 32 bytes"));
  CHECK_THAT(header_error(entry("[2]", "[8,4]"), 8), Contains("begin <= end"));
  CHECK_THAT(header_error(entry("[2]", "[18446744073709551608,0]"), 8), Contains("begin <= end"));
  CHECK_THAT(header_error(entry("[2]", "[0,1099511627776]"), 8), Contains("hold 1099511627776"));
  CHECK_THAT(header_error(entry("[2]", "[0]"), 8), Contains("expected 2 numbers, got 1"));
  CHECK_THAT(header_error(entry("[2]", "[0,8,8]"), 8), Contains("expected 2 numbers, got 3"));
  CHECK_THAT(header_error(entry("[2]", "[4,12]"), 12), Contains("hole"));
  CHECK_THAT(header_error(entry("[0]", "[4,4]"), 4), Contains("hole"));
  CHECK_THAT(header_error(entry("[0]", "[18446744073709551615,18446744073709551615]")), Contains("hole"));
  CHECK_THAT(header_error(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1), Contains("expected 2 bytes"));
  const auto two = [](const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":)" +
           second + "}}";
  };
  CHECK_THAT(header_error(two("[0,16]"), 16), Contains("overlap"));
  CHECK_THAT(header_error(two("[12,28]"), 28), Contains("overlap") && Contains("\"a\""));
  CHECK_THAT(header_error(two("[20,36]"), 36), Contains("hole"));
  CHECK_THAT(header_error("{}", 8), Contains("trailing"));
}

TEST_CASE("a header damaged at any byte is read or refused, never anything else") {
  const std::string whole = safetensors_bytes(kTwo, float_bytes(7));
  const TemporaryFolder folder;
  std::mt19937 random(3);
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = whole;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      damaged[random() % damaged.size()] = static_cast<char>(static_cast<unsigned char>(random()));
    }
    const auto path = folder.write("m.safetensors", damaged);
    try {
      const SafetensorsFile file(path);
      for (const std::string& name : file.names()) {
        if (mha::is_float_type(file.find(name)->dtype)) floats_of(file, name.c_str());
      }
    } catch (const mha::Error& error) {
      REQUIRE(error.kind() == ErrorKind::model);
    }
  }
}

TEST_CASE("all hostile safetensors files of ../shared end as their index says") {
  const auto root = mha::test::shared("models/hostile");
  if (root.empty()) return;
  // Only the model that needs a tensor can refuse a wrong shape, type, value or name.
  const std::vector<std::string> legal_files = {"shape-zero.safetensors",        "shape-wrong.safetensors",
                                                "weight-is-integer.safetensors", "shape-scalar-empty.safetensors",
                                                "nan-weight.safetensors",        "weight-is-bool.safetensors",
                                                "inf-weight.safetensors",        "missing-one.safetensors"};
  std::istringstream lines(mha::test::content_of(root / "index.jsonl"));
  std::size_t seen = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    const std::filesystem::path path = root / record["file"].get<std::string>();
    if (path.parent_path().filename() != "safetensors") continue;
    ++seen;
    INFO(path.string());
    std::string message;
    try {
      const SafetensorsFile file(path);
    } catch (const mha::Error& error) {
      REQUIRE(error.kind() == ErrorKind::model);
      message = error.what();
      CHECK_THAT(message, Contains(path.string()));
    }
    const bool legal = std::find(legal_files.begin(), legal_files.end(), path.filename().string()) != legal_files.end();
    if (!legal) CHECK(message.empty() == (record["expect"] != "model-error"));
  }
  CHECK(seen > 70);
}
