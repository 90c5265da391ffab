#include "io/mapped_file.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <string>

#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::MappedFile;
using mha::test::error_of;
using mha::test::TemporaryFolder;

TEST_CASE("a mapped file and a read file hold the file's bytes, also none, also through a link") {
  const TemporaryFolder folder;
  for (const std::string& content : {std::string(), std::string("a\0b", 3), std::string(100000, 'x')}) {
    const auto path = folder.write("file", content);
    MappedFile first(path);
    const MappedFile file = std::move(first);
    CHECK(file.text() == content);
    CHECK(file.bytes().size() == content.size());
    CHECK(mha::read_file(path) == content);
  }
  std::filesystem::create_symlink("file", folder / "link");
  CHECK(MappedFile(folder / "link").size() == 100000);
  CHECK_FALSE(mha::read_file("/proc/self/status").empty());
}

TEST_CASE("what is no readable regular file is refused at once, with its path") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("nowhere", folder / "dangling");
  for (const auto& path :
       {folder / "gone", folder.path(), folder / "pipe", folder / "dangling", std::filesystem::path("/dev/zero"),
        std::filesystem::path("/dev/null"), std::filesystem::path(std::string("a\0b", 3)), std::filesystem::path()}) {
    CHECK_THAT(error_of(ErrorKind::model, [&] { MappedFile file(path); }), Contains(mha::path_text(path)));
    CHECK_THAT(error_of(ErrorKind::input, [&] { mha::read_file(path, ErrorKind::input); }),
               Contains(mha::path_text(path)));
  }
}

TEST_CASE("a file above the cap is not read") {
  const TemporaryFolder folder;
  const auto path = folder.write("file", "12345");
  CHECK(mha::read_file(path, ErrorKind::model, 5) == "12345");
  CHECK_THAT(error_of(ErrorKind::model, [&] { mha::read_file(path, ErrorKind::model, 4); }),
             Contains("at most 4 bytes"));
}

TEST_CASE("a path is printed without control characters") {
  CHECK(mha::path_text("a\x1b[31m\xff\xc2\x9bé😀\n") == "a\\x1b[31m\\xff\\xc2\\x9bé😀\\x0a");
}
