// Bodies of requests: whatever they hold, there is a value or an ApiError that names a place.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/api_error.hpp"
#include "serve/json_body.hpp"

using mha::serve::ApiError;

namespace {

template <class Call>
void attempt(Call call) {
  try {
    call();
  } catch (const ApiError& error) {
    if (error.status < 400 || error.status >= 500 || error.message.empty()) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    nlohmann::json body = mha::serve::parse_body(text);
    if (body != nlohmann::json::parse(text)) __builtin_trap();
    mha::serve::Fields fields(body);
    for (const char* key : {"inputs", "input", "ids", "query", "texts"}) {
      attempt([&] { fields.text(key); });
      attempt([&] { fields.flag(key); });
      attempt([&] { fields.number(key); });
      attempt([&] { fields.texts(key); });
      attempt([&] { fields.integer(key, -5, 1000); });
      attempt([&] { fields.choice(key, {"float", "base64"}); });
      attempt([&] {
        if (fields.find(key) != nullptr) mha::serve::read_inputs(body[key], key, 100);
      });
    }
    attempt([&] { fields.require_all_read(); });
  });
  return 0;
}
