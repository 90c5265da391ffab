#include "io/mapping_guard.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "io/mapped_file.hpp"
#include "io/process.hpp"

namespace mha {
namespace {

constexpr int kModelError = 3;  // exit code of a model that cannot be read

/// One mapping, which the signal handler may read at any time: `begin` is set last and cleared first.
struct Mapping {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<char*> name{nullptr};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<char*>::is_always_lock_free);

std::array<Mapping, 256> mappings{};
const char* program_name = "";
struct sigaction other_handler {};

void print(const char* text) {
  // Nothing can be done about a message that cannot be written.
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Mapping& mapping : mappings) {
    const std::uintptr_t begin = mapping.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= mapping.end.load(std::memory_order_relaxed)) continue;
    unlink_unfinished_outputs();
    print(program_name);
    print(": error: ");
    const char* const name = mapping.name.load(std::memory_order_relaxed);
    print(name != nullptr ? name : "model");
    print(": expected the file to stay as it was opened, got one that was cut or cannot be read while it is in use\n");
    ::_exit(kModelError);
  }
  if ((other_handler.sa_flags & SA_SIGINFO) != 0) return other_handler.sa_sigaction(signal, info, context);
  if (other_handler.sa_handler != SIG_DFL && other_handler.sa_handler != SIG_IGN)
    return other_handler.sa_handler(signal);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void install_mapping_guard(const char* program) {
  program_name = program;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigfillset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &other_handler);
}

void add_mapping(const void* data, std::size_t size, const std::filesystem::path& path) {
  char* const name = ::strdup(path_text(path).c_str());
  if (name == nullptr) return;
  for (Mapping& mapping : mappings) {
    char* expected = nullptr;
    if (!mapping.name.compare_exchange_strong(expected, name)) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    mapping.end.store(begin + size, std::memory_order_relaxed);
    mapping.begin.store(begin, std::memory_order_release);
    return;
  }
  std::free(name);
}

void remove_mapping(const void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (Mapping& mapping : mappings) {
    if (mapping.begin.load(std::memory_order_relaxed) != begin) continue;
    mapping.begin.store(0, std::memory_order_release);
    std::free(mapping.name.exchange(nullptr));
    return;
  }
}

}  // namespace mha
