#include <string>

#include "cli/help.hpp"
#include "mha/ops/backend.hpp"
#include "ops/cpu.hpp"
#include "ops/machine.hpp"

namespace mha::cli {

std::string version_text() {
  std::string text = "mha-cli " MHA_VERSION " (" MHA_COMMIT ")\n";
  for (const std::string& name : backend_names()) {
    text += "backend " + name + ": " + backend_named(name).description() + '\n';
  }
  const Backend& chosen = backend_named("auto");
  text += "auto: backend " + std::string(chosen.name()) + ", dtype " + std::string(name_of(chosen.exact_precision())) +
          '\n';
  text += "cpu: " + cpu_name() + '\n';
  return text + "cpu features: " + cpu_features().text + '\n';
}

}  // namespace mha::cli
