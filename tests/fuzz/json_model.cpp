// Any text as a JSON model: refused with a message, or its parts are JSON and its tensors fit their shapes.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/utf8.hpp"
#include "io/json_weights.hpp"
#include "mha/core/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto model = mha::JsonModel::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (!nlohmann::json::accept(model.config_json())) std::abort();
    if (!model.tokenizer_json().empty() && !nlohmann::json::accept(model.tokenizer_json())) std::abort();
    for (const std::string& name : model.names()) {
      const mha::TensorView* view = model.find(name);
      for (std::size_t i = 0; i < view->size(); ++i) {
        float value = 0;
        std::memcpy(&value, view->data + i * sizeof value, sizeof value);
        if (!std::isfinite(value)) std::abort();
      }
    }
  } catch (const mha::Error& error) {
    if (error.kind() != mha::ErrorKind::model) std::abort();
    if (mha::utf8::first_invalid(error.what()) != mha::utf8::kValid) std::abort();
  }
  return 0;
}
