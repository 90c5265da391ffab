#include "io/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace mha {
namespace {

// Lock-free pointers to paths, which a signal handler may read. The code that takes a pointer out owns it.
std::array<std::atomic<char*>, 16> unfinished{};
static_assert(std::atomic<char*>::is_always_lock_free);

std::atomic<bool> line_open{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int signal) {
  if (line_open.exchange(false) && ::write(STDERR_FILENO, "\n", 1) < 0) line_open = false;
  for (std::atomic<char*>& slot : unfinished) {
    if (const char* path = slot.exchange(nullptr)) ::unlink(path);
  }
  if (signal == SIGINT) ::_exit(130);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void guard_standard_streams() {
  for (int stream = 0; stream < 3; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // This is the lowest free number, because the lower ones were just checked or opened.
    if (::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) != stream) ::_exit(1);
  }
}

void install_signal_cleanup() {
  // A file over its size limit is then an error of the write, with a message.
  ::signal(SIGXFSZ, SIG_IGN);
  const auto install = [](int signal, bool over_others) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
    if (!over_others && action.sa_handler != SIG_DFL) return;
    action = {};
    action.sa_handler = on_signal;
    ::sigfillset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) install(signal, true);
  // Handlers of faults that are there already, such as a sanitizer's, stay.
  for (const int signal : {SIGQUIT, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGUSR1, SIGUSR2, SIGABRT, SIGBUS,
                           SIGFPE, SIGILL, SIGSEGV}) {
    install(signal, false);
  }
}

void set_line_open(bool open) { line_open = open; }

void add_unfinished_output(const std::filesystem::path& path) {
  char* const copy = ::strdup(path.c_str());
  if (copy == nullptr) return;
  for (std::atomic<char*>& slot : unfinished) {
    char* expected = nullptr;
    if (slot.compare_exchange_strong(expected, copy)) return;
  }
  std::free(copy);
}

void remove_from_unfinished_outputs(const std::filesystem::path& path) {
  for (std::atomic<char*>& slot : unfinished) {
    char* const candidate = slot.exchange(nullptr);
    if (candidate == nullptr) continue;
    if (path == candidate) {
      std::free(candidate);
      return;
    }
    slot.store(candidate);
  }
}

void unlink_unfinished_outputs() {
  for (std::atomic<char*>& slot : unfinished) {
    if (const char* path = slot.exchange(nullptr)) ::unlink(path);
  }
}

}  // namespace mha
