#include "serve/api_error.hpp"

#include "serve/json_append.hpp"

namespace mha::serve {
namespace {

constexpr const char* kRetryAfterSeconds = "1";

std::string_view openai_type(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

}  // namespace

Response error_response(Dialect dialect, const ApiError& error) {
  Response response;
  response.status = error.status;
  std::string& out = response.body;
  if (dialect == Dialect::openai) {
    out += "{\"error\":{\"message\":";
    append_json_piece(out, error.message);
    ((out += ",\"type\":\"") += openai_type(error.status)) += "\",\"param\":";
    if (error.place.empty()) {
      out += "null";
    } else {
      append_json_piece(out, error.place);
    }
    out += ",\"code\":" + std::to_string(error.status) + "},\"message\":";
    append_json_piece(out, error.message);
    out += ",\"type\":\"" + error.type + "\",\"code\":" + std::to_string(error.status) + "}";
  } else {
    out += "{\"error\":";
    append_json_piece(out, error.message);
    out += ",\"error_type\":\"" + error.type + "\"}";
  }
  if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("retry-after", kRetryAfterSeconds);
    response.headers.emplace_back("x-should-retry", "true");
  }
  if (error.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
  return response;
}

}  // namespace mha::serve
