#include <string>

#include "cli/help.hpp"
#include "mha/core/error.hpp"
#include "mha/ops/backend.hpp"
#include "ops/cpu.hpp"
#include "ops/cpu_name.hpp"

namespace mha::cli {

namespace {

/// A backend whose library is not installed is part of the answer, not an error.
std::string description_of(const std::string& backend) {
  try {
    return backend_named(backend).description();
  } catch (const Error& error) {
    const std::string prefix = "backend: " + backend + ": ";
    const std::string text = error.what();
    return "not available: " + (text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text);
  }
}

}  // namespace
std::string version_number() { return MHA_VERSION; }
std::string release_date() { return MHA_DATE; }

std::string program_version() { return MHA_VERSION " (" MHA_COMMIT ")"; }

std::string version_text() {
  std::string text = "mha-cli " + program_version() + '\n';
  for (const std::string& name : backend_names()) {
    text += "backend " + name + ": " + description_of(name) + '\n';
  }
  const Backend& chosen = backend_named("auto");
  text += "auto: backend " + std::string(chosen.name()) + ", dtype " + std::string(name_of(chosen.exact_precision())) +
          '\n';
  text += "cpu: " + cpu_name() + '\n';
  return text + "cpu features: " + cpu_features().text + '\n';
}

}  // namespace mha::cli
