#include "cli/interrupt.hpp"

#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstring>

namespace mha::cli {
namespace {

char unfinished_file[PATH_MAX];

extern "C" void end_program(int signal) {
  if (unfinished_file[0] != '\0') unlink(unfinished_file);
  if (signal == SIGINT) _exit(128 + SIGINT);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void remove_when_interrupted(const std::filesystem::path& unfinished) {
  if (unfinished.native().size() < sizeof unfinished_file) std::strcpy(unfinished_file, unfinished.c_str());
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // nohup, or a background job of a shell without job control
    struct sigaction action {};
    action.sa_handler = end_program;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace mha::cli
