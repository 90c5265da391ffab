#include "io/file_set.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::test::error_of;
using mha::test::TemporaryFolder;

TEST_CASE("names that leave their folder are seen") {
  for (const char* inside : {"a", "a/b", "1_Pooling/config.json", "..a", "a..b", ".hidden"})
    CHECK(mha::is_inside_name(inside));
  for (const char* outside :
       {"", "/", "/etc/passwd", "..", "../a", "a/../b", "a/..", ".", "a//b", "a/", "./a", "a\\b"}) {
    INFO(outside);
    CHECK_FALSE(mha::is_inside_name(outside));
  }
  CHECK_FALSE(mha::is_inside_name(std::string_view("a\0b", 3)));
}

TEST_CASE("a folder on disk and files in memory are seen the same way") {
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("1_Pooling/config.json", "[1]");
  folder.write(".hidden", "x");
  const std::string config = "{}";
  const std::string pooling = "[1]";
  const auto memory = mha::memory_files(
      {{"config.json", std::as_bytes(std::span(config))}, {"1_Pooling/config.json", std::as_bytes(std::span(pooling))}},
      "built-in x");
  for (const auto& files : {mha::folder_files(folder.path()), memory}) {
    CHECK(files->has("config.json"));
    CHECK_FALSE(files->has("../config.json"));
    CHECK(files->open("1_Pooling/config.json").text() == "[1]");
    CHECK(files->place("a/b") == files->origin() + "/a/b");
    const auto entries = files->list();
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].name == "1_Pooling/config.json");
    CHECK(entries[0].bytes == 3);
    CHECK(entries[1].name == "config.json");
    const auto inner = mha::subfolder_files(files, "1_Pooling");
    CHECK(inner->has("config.json"));
    CHECK_FALSE(inner->has("1_Pooling/config.json"));
    CHECK(inner->open("config.json").text() == "[1]");
    CHECK(inner->list().size() == 1);
    CHECK_THAT(error_of(ErrorKind::model, [&] { files->open("gone.json"); }), Contains("gone.json"));
    CHECK_FALSE(error_of(ErrorKind::model, [&] { files->open("../x"); }).empty());
  }
}

TEST_CASE("what stands in the place of a file is not taken for an absent file, and says so when it is opened") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("gone", folder.path() / "dangling.json");
  std::filesystem::create_symlink("loop.json", folder.path() / "loop.json");
  std::filesystem::create_directory(folder.path() / "folder.json");
  REQUIRE(::mkfifo((folder.path() / "pipe.json").c_str(), 0600) == 0);
  const auto files = mha::folder_files(folder.path());
  const auto message = [&](const char* name) { return error_of(ErrorKind::model, [&] { files->open(name); }); };
  for (const char* name : {"dangling.json", "loop.json", "folder.json", "pipe.json"}) CHECK(files->has(name));
  CHECK_THAT(message("dangling.json"), Contains("a link to a file that is not there"));
  CHECK_THAT(message("loop.json"), Contains("loop.json"));
  CHECK_THAT(message("folder.json"), Contains("got a folder"));
  CHECK_THAT(message("pipe.json"), Contains("got a device or a pipe"));
  CHECK_FALSE(files->has("gone"));
  CHECK_FALSE(files->has("folder.json/gone"));
  CHECK_FALSE(files->has("pipe.json/gone"));
}

TEST_CASE("bytes of a file outlive the set they came from") {
  const TemporaryFolder folder;
  folder.write("a", "content");
  mha::FileBytes bytes = mha::folder_files(folder.path())->open("a");
  CHECK(bytes.text() == "content");
}
