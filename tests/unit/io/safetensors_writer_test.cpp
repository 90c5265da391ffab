#include "io/safetensors_writer.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "support/safetensors_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using mha::DType;
using mha::SafetensorsFile;
using mha::SafetensorsWriter;
using mha::test::content_of;
using mha::test::error_of;
using mha::test::TemporaryFolder;

namespace {

const std::vector<mha::TensorSpec> kSpecs = {{"z", DType::f32, {2, 3}},
                                             {"b.scale", DType::i8, {3}},
                                             {"a \"quoted\"\n", DType::f32, {}},
                                             {"wide", DType::i64, {1}},
                                             {"none", DType::f16, {0, 4}}};

void write_all(const std::filesystem::path& path) {
  SafetensorsWriter writer(path, kSpecs, {{"format", "pt"}, {"a", "1"}});
  char next = 0;
  for (const mha::TensorSpec& spec : writer.specs()) {
    const std::size_t bytes = mha::TensorView{spec.dtype, spec.shape, nullptr}.bytes();
    for (std::size_t i = 0; i < bytes; ++i) {
      const auto byte = static_cast<std::byte>(next++);
      writer.write({&byte, 1});
    }
  }
  writer.commit();
}

}  // namespace

TEST_CASE("a safetensors file that is written reads back, aligned, and is the same each time") {
  const TemporaryFolder folder;
  write_all(folder / "one");
  write_all(folder / "two");
  CHECK(content_of(folder / "one") == content_of(folder / "two"));
  const SafetensorsFile file(folder / "one");
  CHECK(file.names().size() == kSpecs.size());
  CHECK(file.metadata() == mha::SafetensorsMetadata{{"format", "pt"}, {"a", "1"}});
  for (const mha::TensorSpec& spec : kSpecs) {
    const mha::TensorView* view = file.find(spec.name);
    REQUIRE(view != nullptr);
    CHECK(view->dtype == spec.dtype);
    CHECK(view->shape == spec.shape);
    CHECK(reinterpret_cast<std::uintptr_t>(view->data) % mha::size_of(spec.dtype) == 0);
  }
  CHECK(*file.find("wide")->data == std::byte{0});
  CHECK(*file.find("a \"quoted\"\n")->data == std::byte{8});
  CHECK(*file.find("z")->data == std::byte{12});
  CHECK(*file.find("b.scale")->data == std::byte{36});
}

TEST_CASE("a safetensors file without all its bytes does not appear") {
  const TemporaryFolder folder;
  {
    SafetensorsWriter writer(folder / "m", {{"a", DType::f32, {2}}});
    const std::vector<std::byte> bytes(9);
    writer.write({bytes.data(), 4});
    error_of(mha::ErrorKind::internal, [&] { writer.write({bytes.data(), 5}); });
    error_of(mha::ErrorKind::internal, [&] { writer.commit(); });
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  error_of(mha::ErrorKind::internal, [&] {
    SafetensorsWriter twice(folder / "m", {{"a", DType::f32, {1}}, {"a", DType::f32, {1}}});
  });
  error_of(mha::ErrorKind::output, [&] { SafetensorsWriter writer(folder / "no/m", {}); });
}
