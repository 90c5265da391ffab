#include "io/mapping_guard.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "io/mapped_file.hpp"
#include "io/process.hpp"
#include "support/temporary_folder.hpp"

TEST_CASE("a mapped file that is cut while it is read ends the process with a message and without litter") {
  const mha::test::TemporaryFolder folder;
  const std::filesystem::path model = folder.write("model.bin", std::string(1 << 16, 'x'));
  const std::filesystem::path output = folder.write("unfinished", "half");
  int said[2];
  REQUIRE(::pipe(said) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(said[1], STDERR_FILENO);
    mha::install_mapping_guard("program");
    mha::add_unfinished_output(output);
    const mha::MappedFile file(model);
    std::filesystem::resize_file(model, 10);
    volatile char last = file.text()[file.size() - 1];
    ::_exit(last == 0 ? 1 : 2);  // not reached
  }
  ::close(said[1]);
  std::string message;
  char part[256];
  for (ssize_t length = 0; (length = ::read(said[0], part, sizeof part)) > 0;)
    message.append(part, static_cast<std::size_t>(length));
  ::close(said[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(message.find("program: error: ") == 0);
  CHECK_FALSE(std::filesystem::exists(output));
}
