// The environment means in test programs what it means in the program.
#include <cstdio>
#include <cstdlib>

#include "mha/core/error.hpp"
#include "ops/backends/openblas.hpp"
#include "ops/cpu.hpp"

namespace mha::test {
namespace {

[[maybe_unused]] const bool applied = [] {
  try {
    if (const char* const words = std::getenv("MHA_CPU")) limit_cpu_features(words);
    for (const auto& [name, value] : openblas_variables()) ::setenv(name, value, 0);
  } catch (const Error& error) {
    std::fprintf(stderr, "MHA_CPU: %s\n", error.what());
    std::_Exit(2);
  }
  return true;
}();

}  // namespace
}  // namespace mha::test
