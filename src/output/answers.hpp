#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mha/analysis/attention_maps.hpp"
#include "mha/analysis/head_statistics.hpp"
#include "mha/analysis/questions.hpp"

namespace mha {

/// One value of an answer: a whole number, a number or a text.
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

/// The answer to one question as rows: the same for JSON, CSV and the terminal.
struct Answer {
  std::string name;                            ///< JSON key: "find", "edges", "stats", …
  std::string title;                           ///< a heading for people
  std::vector<std::string> columns;            ///< JSON keys of a row
  std::vector<std::vector<AnswerCell>> rows;
  bool single = false;                         ///< JSON has the one row as an object instead of an array
};

/// Everything that was asked of the maps of one input, in the order find, edges, stats.
/// Throws Error{usage} for a token that is not there or ambiguous.
std::vector<Answer> answers(const AttentionMaps& maps, const AttentionQuestions& questions);

/// The columns of the first answer that is asked for; empty where none is.
std::vector<std::string> answer_columns(const AttentionQuestions& questions);

/// Statistics as an answer ("stats").
Answer statistics_answer(const std::vector<HeadStatistics>& heads);

/// `"find":[{…},…],"edges":[…]`: members of a record.
std::string answer_members(const std::vector<Answer>& answers, std::optional<int> digits);

/// CSV with a header row.
std::string answer_rows(const Answer& answer, std::optional<int> digits);

/// A table for people.
void append_answer(std::string& out, const Answer& answer, std::size_t columns, std::optional<int> digits);

/// A value as CSV and JSON have it (texts as they are).
std::string cell_text(const AnswerCell& cell, std::optional<int> digits);

}  // namespace mha
