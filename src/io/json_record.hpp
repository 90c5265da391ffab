#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "io/text_reader.hpp"

namespace mha {

/// True if a JSON Lines line is only JSON white space.
bool is_blank_json(std::string_view line);

/// Fills text, text_pair, id_json, extra_json, replaced and error of `record` from one JSON Lines line. The caller has
/// set source, line and begin.
void parse_json_record(std::string_view line, const TextReaderOptions& options, Input& record);

/// `PLACE, byte N: expected valid UTF-8, got byte \xff` for the byte at `invalid` of a record's `bytes`.
std::string invalid_utf8_text(const Input& record, std::string_view bytes, std::size_t invalid);

}  // namespace mha
