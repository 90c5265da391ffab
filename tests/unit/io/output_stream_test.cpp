#include "io/output_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "io/process.hpp"
#include "support/temporary_folder.hpp"
#include "support/throws.hpp"

using Catch::Contains;
using mha::ErrorKind;
using mha::OutputStream;
using mha::test::content_of;
using mha::test::error_of;
using mha::test::TemporaryFolder;

namespace {

std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("a file gets its name and content at commit, and an old one stays until then") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  const std::string large(300000, 'x');
  {
    OutputStream out(path);
    CHECK_FALSE(out.is_direct());
    out.write("new ");
    out.write(large);
    out.write("end");
    out.flush();
    CHECK(out.position() == large.size() + 7);
    CHECK(content_of(path) == "old");
    CHECK(entries_of(folder.path()) == 2);
    out.commit();
  }
  CHECK(content_of(path) == "new " + large + "end");
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("without commit nothing is left and the old file is untouched") {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "precious");
  {
    OutputStream out(path);
    out.write("half");
    out.flush();
  }
  CHECK(content_of(path) == "precious");
  CHECK(entries_of(folder.path()) == 1);
}

TEST_CASE("the mode of a new file follows the umask") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  for (const mode_t mask : {mode_t{027}, mode_t{077}, mode_t{0}}) {
    ::umask(mask);
    OutputStream out(folder / "out");
    out.commit();
    struct stat status {};
    REQUIRE(::stat((folder / "out").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == (0666U & ~mask));
  }
  ::umask(before);
}

TEST_CASE("a symbolic link stays a link and its target is replaced, also one that is not there yet") {
  const TemporaryFolder folder;
  folder.write("data/real", "old");
  std::filesystem::create_symlink("data/real", folder / "link");
  std::filesystem::create_symlink("link", folder / "second");
  std::filesystem::create_symlink("data/new", folder / "dangling");
  for (const char* name : {"second", "dangling"}) {
    OutputStream out(folder / name);
    out.write("new");
    out.commit();
    CHECK(std::filesystem::is_symlink(folder / name));
  }
  CHECK(content_of(folder / "data/real") == "new");
  CHECK(content_of(folder / "data/new") == "new");
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK_THAT(error_of(ErrorKind::output, [&] { OutputStream out(folder / "loop"); }), Contains("loop"));
}

TEST_CASE("a place that cannot be written is refused at opening, with its path") {
  const TemporaryFolder folder;
  folder.write("file", "x");
  for (const auto& path : {folder / "no/such/out", folder.path(), folder / "file/out", folder / "new/"}) {
    CHECK_THAT(error_of(ErrorKind::output, [&] { OutputStream out(path); }), Contains(path.string()));
  }
  CHECK_FALSE(error_of(ErrorKind::output, [] { OutputStream out(""); }).empty());
  if (::geteuid() != 0) {
    std::filesystem::create_directory(folder / "ro");
    ::chmod((folder / "ro").c_str(), 0555);
    CHECK_THAT(error_of(ErrorKind::output, [&] { OutputStream out(folder / "ro/x"); }), Contains("ro/x"));
    ::chmod((folder / "file").c_str(), 0444);
    CHECK_THAT(error_of(ErrorKind::output, [&] { OutputStream out(folder / "file"); }), Contains("file"));
  }
}

TEST_CASE("a full device and a closed descriptor are errors, not silence") {
  OutputStream full("/dev/full");
  CHECK(full.is_direct());
  full.write("x");
  CHECK_THAT(error_of(ErrorKind::output, [&] { full.commit(); }), Contains("/dev/full") && Contains("space"));
  OutputStream closed("/dev/fd/997");
  closed.write("x");
  CHECK_THAT(error_of(ErrorKind::output, [&] { closed.flush(); }), Contains("/dev/fd/997"));
  OutputStream unused("/dev/fd/997");
  unused.commit();
}

TEST_CASE("a pipe is written directly and stays a pipe") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = content_of(folder / "pipe"); });
  {
    OutputStream out(folder / "pipe");
    CHECK(out.is_direct());
    CHECK_FALSE(out.can_patch());
    out.write("through");
    out.commit();
  }
  reader.join();
  CHECK(got == "through");
  CHECK(std::filesystem::is_fifo(folder / "pipe"));
}

TEST_CASE("a reader that went away is told apart from other errors") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  OutputStream out("/dev/fd/" + std::to_string(ends[1]));
  out.write("x");
  CHECK_THROWS_AS(out.flush(), mha::ReaderGone);
  CHECK_NOTHROW(out.flush());
  std::signal(SIGPIPE, before);
  ::close(ends[1]);
}

TEST_CASE("a pipe that somebody made non-blocking loses nothing") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  const std::string large(1000000, 'y');
  std::string got;
  std::thread reader([&] {
    char block[4096];
    while (got.size() < large.size()) {
      const ssize_t n = ::read(ends[0], block, sizeof block);
      if (n > 0) got.append(block, static_cast<std::size_t>(n));
    }
  });
  OutputStream out("/dev/fd/" + std::to_string(ends[1]));
  out.write(large);
  out.commit();
  reader.join();
  CHECK(got == large);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("bytes can be patched in a file, also behind what another writer put there, but not in append mode") {
  const TemporaryFolder folder;
  {
    OutputStream out(folder / "out");
    REQUIRE(out.can_patch());
    out.write("0000 rest");
    out.patch(1, "12");
    out.write("!");
    out.commit();
  }
  CHECK(content_of(folder / "out") == "0120 rest!");
  const int file = ::open((folder / "shared").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(::write(file, "before ", 7) == 7);
  {
    OutputStream out("/dev/fd/" + std::to_string(file));
    out.write("0000");
    out.patch(0, "1");
    out.commit();
  }
  CHECK(content_of(folder / "shared") == "before 1000");
  ::fcntl(file, F_SETFL, O_APPEND);
  CHECK_FALSE(OutputStream("/dev/fd/" + std::to_string(file)).can_patch());
  ::close(file);
}

TEST_CASE("a signal removes the unfinished file and ends the process as the shell expects") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      mha::install_signal_cleanup();
      OutputStream out(folder / "out");
      out.write("half");
      out.flush();
      if (::write(ready[1], "r", 1) == 1) ::pause();
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    CHECK(entries_of(folder.path()) == 1);
    ::kill(child, signal);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (signal == SIGINT) {
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 130);
    } else {
      CHECK(WIFSIGNALED(status));
    }
    CHECK(entries_of(folder.path()) == 0);
    ::close(ready[0]);
    ::close(ready[1]);
  }
}

TEST_CASE("closed standard streams are occupied, so that no file gets their numbers") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(0);
    ::close(1);
    mha::guard_standard_streams();
    char byte = 0;
    const bool right = ::open("/dev/null", O_RDONLY) > 2 && ::read(0, &byte, 1) < 0 && ::write(1, "x", 1) < 0;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
