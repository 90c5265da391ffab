#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "serve/http.hpp"

namespace mha::serve {

/// Whose errors a route speaks. `tei`: text-embeddings-inference, and every route without a dialect of its own.
/// `openai`: OpenAI's nested object, with the members of the other dialect's OpenAI routes beside it.
enum class Dialect { tei, openai };

/// A request that gets no answer. `type` is text-embeddings-inference's: Empty, Validation, Tokenizer, Backend,
/// Overloaded, Unhealthy.
struct ApiError {
  unsigned status = 500;
  std::string type;
  std::string message;
  std::string place{};  ///< the key or input that is wrong: `inputs[3]`; empty: none
};

[[noreturn]] inline void fail(unsigned status, std::string type, std::string message, std::string place = {}) {
  throw ApiError{status, std::move(type), std::move(message), std::move(place)};
}
/// The body has another shape than the route reads.
[[noreturn]] inline void fail_shape(std::string place, const std::string& expected, const std::string& got) {
  std::string message = place + ": expected " + expected + ", got " + got;
  fail(422, "Validation", std::move(message), std::move(place));
}

Response error_response(Dialect dialect, const ApiError& error);

}  // namespace mha::serve
