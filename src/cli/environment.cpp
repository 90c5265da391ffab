#include "cli/environment.hpp"

#include <cstdlib>
#include <string>

#include "mha/core/error.hpp"
#include "ops/backends/openblas.hpp"
#include "ops/cpu.hpp"

namespace mha::cli {

void apply_environment() {
  if (const char* const words = std::getenv("MHA_CPU")) {
    try {
      limit_cpu_features(words);
    } catch (const Error& error) {
      throw_usage(std::string("MHA_CPU: ") + error.what() + "; unset it to use all that this CPU has");
    }
  }
  for (const auto& [name, value] : openblas_variables()) ::setenv(name, value, 0);
}

}  // namespace mha::cli
