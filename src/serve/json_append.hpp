#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_writer.hpp"
#include "output/answers.hpp"

/// One JSON value behind what a text already holds, for answers that are put together from parts.
namespace mha::serve {

inline void append_json_piece(std::string& out, std::string_view text) { JsonWriter(out).text(text); }

template <class Number>
void append_number(std::string& out, Number value) {
  JsonWriter(out).number(value);
}

inline void append_row(std::string& out, const std::vector<std::string>& columns,
                       const std::vector<AnswerCell>& cells) {
  JsonWriter json(out);
  json.begin_object();
  write_row(json, columns, cells);
  json.end_object();
}

}  // namespace mha::serve
