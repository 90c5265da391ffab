#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mha {

/// One value of a result: a whole number, a number or a text.
struct AnswerCell {
  enum class Kind { integer, number, text } kind = Kind::integer;
  long integer = 0;
  double number = 0;
  std::string text;

  static AnswerCell of(std::size_t value) { return {Kind::integer, static_cast<long>(value), 0, {}}; }
  static AnswerCell whole(long value) { return {Kind::integer, value, 0, {}}; }
  static AnswerCell of(double value) { return {Kind::number, 0, value, {}}; }
  static AnswerCell of(std::string value) { return {Kind::text, 0, 0, std::move(value)}; }
};

/// One thing that a task found in an input.
struct ResultRow {
  std::size_t list = 0;  ///< which of several lists it belongs to
  std::vector<AnswerCell> cells;
};

/// How all results of a run look: one set of rows for JSON, CSV and the terminal.
struct ResultLayout {
  /// members: the values of the one row are members of the record; list: `key` holds an array of rows; lists: `key`
  /// holds an array of such arrays.
  enum class Shape { members, list, lists } shape = Shape::members;
  std::string key;
  std::string list_name;             ///< lists: what CSV calls the number of the list
  std::vector<std::string> columns;  ///< JSON keys of a row
};

}  // namespace mha
