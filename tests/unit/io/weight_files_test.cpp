#include "io/weight_files.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "support/safetensors_text.hpp"
#include "support/shared.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::WeightFiles;
using mha::test::error_of;
using mha::test::float_bytes;
using mha::test::safetensors_bytes;
using mha::test::TemporaryFolder;

namespace {

std::string one_tensor(const std::string& name) {
  return safetensors_bytes("{\"" + name + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", float_bytes(2));
}

constexpr char kIndex[] = "model.safetensors.index.json";

std::string index_error(const std::string& index) {
  const TemporaryFolder folder;
  folder.write("a.safetensors", one_tensor("a"));
  folder.write(kIndex, index);
  return error_of(ErrorKind::model, [&] { WeightFiles files(folder.path()); });
}

}  // namespace

TEST_CASE("weights are found in a file, in a folder, and in the shards that an index lists") {
  const TemporaryFolder folder;
  const auto file = folder.write("one/model.safetensors", one_tensor("a"));
  for (const auto& path : {file, folder / "one"}) {
    const WeightFiles weights(path);
    CHECK(weights.names() == std::vector<std::string>{"a"});
    CHECK(weights.find("a")->shape == std::vector<std::size_t>{2});
    CHECK(weights.find("b") == nullptr);
    CHECK(weights.file_of("a") == file);
  }
  const auto first = folder.write("two/s1.safetensors", one_tensor("b"));
  const auto second = folder.write("two/inner/s2.safetensors", one_tensor("a"));
  folder.write("two/unlisted.safetensors", "not read");
  folder.write("two/model.safetensors.index.json",
               R"({"metadata":{"total_size":16},"weight_map":{"b":"s1.safetensors","a":"inner/s2.safetensors"}})");
  for (const auto& path : {folder / "two", folder / "two/model.safetensors.index.json"}) {
    WeightFiles opened(path);
    const WeightFiles weights = std::move(opened);
    CHECK(weights.names() == std::vector<std::string>{"a", "b"});
    CHECK(weights.files().size() == 2);
    CHECK(weights.file_of("a") == second);
    CHECK(weights.file_of("b") == first);
    CHECK(weights.find("b")->size() == 2);
  }
}

TEST_CASE("a folder without readable weights says what it has and what to do") {
  const TemporaryFolder folder;
  CHECK_THAT(error_of(ErrorKind::model, [&] { WeightFiles files(folder.path()); }), Contains("model.safetensors"));
  folder.write("pytorch_model.bin", "x");
  CHECK_THAT(error_of(ErrorKind::model, [&] { WeightFiles files(folder.path()); }),
             Contains("pytorch_model.bin") && Contains("convert"));
  CHECK_THAT(error_of(ErrorKind::model, [&] { WeightFiles files(folder / "gone"); }), Contains("no such file"));
}

TEST_CASE("an index that is damaged or leaves its folder is refused") {
  CHECK_THAT(index_error(R"({"weight_map":{"a":"s2.safetensors"}})"),
             Contains("s2.safetensors") && Contains("incomplete download?"));
  for (const char* name : {"../a.safetensors", "x/../../a.safetensors", "/dev/zero", "/etc/passwd", ".."}) {
    CHECK_THAT(index_error(R"({"weight_map":{"a":")" + std::string(name) + "\"}}"),
               Contains("folder") && Contains(name));
  }
  CHECK_THAT(index_error(R"({"weight_map":{"a":""}})"), Contains("empty"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":"a.safetensors\u0000x"}})"), Contains("NUL"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":"."}})"), Contains("folder"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":"model.safetensors.index.json"}})"), Contains("JSON"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":7}})"), Contains("expected a file name, got number"));
  CHECK_THAT(index_error(R"({"weight_map":{"b":"a.safetensors"}})"), Contains("\"b\" is not there"));
  CHECK_THAT(index_error(R"({"weight_map":{}})"), Contains("at least one"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":"a.safetensors","a":"a.safetensors"}})"), Contains("duplicate"));
  CHECK_THAT(index_error(R"({"weight_map":[]})"), Contains("weight_map"));
  CHECK_THAT(index_error(R"({})"), Contains("weight_map"));
  CHECK_THAT(index_error(R"([])"), Contains("weight_map"));
  CHECK_THAT(index_error(""), Contains("empty"));
  CHECK_THAT(index_error(R"({"weight_map":{"a":"a.safe)"), Contains("not valid JSON"));
  CHECK_THAT(index_error(std::string(60000, '[')), Contains("deeper"));
}

TEST_CASE("all hostile index files of ../shared are refused") {
  const auto root = mha::test::shared("models/hostile");
  if (root.empty()) return;
  for (const auto& entry : std::filesystem::directory_iterator(root / "index")) {
    const TemporaryFolder folder;
    folder.write(kIndex, mha::test::content_of(entry.path()));
    INFO(entry.path().string());
    CHECK_FALSE(error_of(ErrorKind::model, [&] { WeightFiles files(folder.path()); }).empty());
  }
}

TEST_CASE("all legal forms of one model in ../shared hold the same names of tensors") {
  const auto root = mha::test::shared("models/bert-weights");
  if (root.empty()) return;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (!entry.is_directory()) continue;
    INFO(entry.path().string());
    const WeightFiles weights(entry.path());
    CHECK(weights.names().size() > 20);
    for (const std::string& name : weights.names()) CHECK(weights.find(name) != nullptr);
  }
}
