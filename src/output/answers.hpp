#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/questions.hpp"
#include "core/json_writer.hpp"
#include "mha/analysis/attention_maps.hpp"
#include "mha/analysis/head_statistics.hpp"
#include "output/delimited.hpp"
#include "output/format.hpp"
#include "output/results.hpp"

namespace mha {

/// The answer to one question as rows: the same for JSON, CSV and the terminal.
struct Answer {
  std::string name;                  ///< JSON key: "find", "edges", "stats", …
  std::string title;                 ///< a heading for people
  std::vector<std::string> columns;  ///< JSON keys of a row
  std::vector<std::vector<AnswerCell>> rows;
  bool single = false;  ///< JSON has the one row as an object instead of an array
};

/// Everything that was asked of the maps of one input, in the order find, edges, stats.
/// Throws Error{usage} for a token that is not there or ambiguous.
std::vector<Answer> answers(const AttentionMaps& maps, const AttentionQuestions& questions);

/// The columns of the first answer that is asked for; empty where none is.
std::vector<std::string> answer_columns(const AttentionQuestions& questions);

/// Statistics as an answer ("stats").
Answer statistics_answer(const std::vector<HeadStatistics>& heads);

/// Members of a row: `"score":…,"label":…`.
void write_row(JsonWriter& json, const std::vector<std::string>& columns, const std::vector<AnswerCell>& cells);

/// Members of a record: `"find":[{…},…],"edges":[…]`.
void write_answers(JsonWriter& json, const std::vector<Answer>& answers);

/// All answers of a run as one text: an object for JSON, one row per line for JSON Lines, the first answer for CSV and
/// TSV, tables else. `width` in columns.
std::string answers_text(const std::vector<Answer>& answers, Format format, std::size_t width,
                         std::optional<int> digits);

/// A header row, then the rows.
std::string answer_rows(const Answer& answer, const Dialect& dialect, std::optional<int> digits);

/// A table for people.
void append_answer(std::string& out, const Answer& answer, std::size_t columns, std::optional<int> digits);

/// A table of rows for people, under no title; a last line names the columns for which there is no room.
void append_rows(std::string& out, const std::vector<std::string>& columns,
                 const std::vector<std::vector<AnswerCell>>& rows, std::size_t width, std::optional<int> digits);

/// A value as a table has it: numbers with a fixed number of places.
std::string table_text(const AnswerCell& cell, std::optional<int> digits);

/// A value as CSV and JSON have it (texts as they are).
std::string cell_text(const AnswerCell& cell, std::optional<int> digits);

}  // namespace mha
