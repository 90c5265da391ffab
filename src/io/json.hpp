#pragma once

#include <cstddef>
#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "mha/core/error.hpp"

namespace mha {

/// Deepest nesting that any JSON text from outside may have.
constexpr std::size_t kJsonDepth = 128;

/// Parses one whole JSON text strictly: valid UTF-8, no key twice in an object, no NUL byte, nothing after the value,
/// nesting at most `kJsonDepth`, integers and floats in range. A byte order mark at the start is dropped.
/// Errors of the given kind: `subject: …, line l, column c`.
nlohmann::json parse_json(std::string_view text, const std::string& subject, ErrorKind kind = ErrorKind::model);

/// The error text of nlohmann/json without its tags and without the quoted rest of the text.
std::string json_error_text(const std::exception& error);

}  // namespace mha
