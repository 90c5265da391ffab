#include "io/digest.hpp"

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using namespace mha;

TEST_CASE("digests are those of the standards", "[digest]") {
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  test::TemporaryFolder folder;
  const auto file = folder.write("a", "abc");
  CHECK(sha256_of_file(file) == sha256_of("abc"));
  CHECK(git_blob_sha1(file) == "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");  // git hash-object
  const auto large = folder.write("b", std::string(1000000, 'x'));
  CHECK(sha256_of_file(large) == sha256_of(std::string(1000000, 'x')));
  CHECK(test::error_of(ErrorKind::input, [&] { sha256_of_file(folder / "none"); }).find("none") != std::string::npos);
  test::error_of(ErrorKind::input, [&] { sha256_of_file(folder.path()); });
}
