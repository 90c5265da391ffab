#include "model/builtin_models.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "io/mapped_file.hpp"
#include "support/source_folder.hpp"

TEST_CASE("the models inside the binary are the files of models/, byte for byte") {
  namespace fs = std::filesystem;
  for (const std::string& name : mha::builtin_model_names()) {
    const auto files = mha::builtin_model_files(name);
    REQUIRE(files != nullptr);
    const fs::path folder = mha::test::source_folder() / "models" / name;
    for (const auto& entry : files->list()) {
      CAPTURE(name, entry.name);
      const mha::MappedFile file(folder / entry.name);
      CHECK(file.text() == files->open(entry.name).text());
    }
  }
}
