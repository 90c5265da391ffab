#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mha {

/// A label and how likely it is, or the number of a regression.
struct ScoredLabel {
  std::string name;
  double score = 0;
};
/// Labels of an input, best first.
struct Labels {
  std::vector<ScoredLabel> best;
};

/// A vocabulary entry in place of a mask.
struct Fill {
  double score = 0;
  std::int32_t token = 0;
  std::string token_text;
  std::string sequence;  ///< the whole input with this entry in it
};
/// For each mask of an input the best entries, best first.
struct Fills {
  std::vector<std::vector<Fill>> masks;
};

/// A part of the text with a label. Positions count in the unit that was asked for.
struct FoundEntity {
  std::string label;
  double score = 0;
  std::optional<std::size_t> token;  ///< position of the token that it is; empty: it may be several
  std::string word;
  std::size_t begin = 0;
  std::size_t end = 0;
};
struct Entities {
  std::vector<FoundEntity> found;
};

/// A stretch of the text that answers a question; empty: no answer.
struct FoundSpan {
  std::string text;
  double score = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool no_answer = false;
};
/// Answers of an input, best first.
struct Spans {
  std::vector<FoundSpan> best;
};

/// How well a document fits a query.
struct Score {
  double value = 0;
};

/// A vocabulary entry and its weight in a sparse vector.
struct WeightedToken {
  std::string token;
  std::int32_t id = 0;
  double weight = 0;
};
/// The entries of a sparse vector that are not 0, heaviest first.
struct SparseVector {
  std::vector<WeightedToken> entries;
};

/// What a task found in an input.
using TaskResult = std::variant<std::monostate, Labels, Fills, Entities, Spans, Score, SparseVector>;

/// One value of a table: a whole number, a number or a text.
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

/// One row of a task's result as JSON, CSV and tables show it.
struct ResultRow {
  std::size_t list = 0;  ///< number of the list that it belongs to
  std::vector<AnswerCell> cells;
};

/// How the results of a run are laid out: the same columns in JSON, CSV and the terminal.
struct ResultLayout {
  /// members: the values of the only row are members of the record; list: `key` holds an array of rows; lists: `key`
  /// holds an array of such arrays.
  enum class Shape { members, list, lists } shape = Shape::members;
  std::string key;
  std::string list_name;             ///< lists: what CSV calls the number of the list
  std::vector<std::string> columns;  ///< JSON keys of a row
};

/// The rows of a result, in the columns of the layout that its task has.
std::vector<ResultRow> rows_of(const TaskResult& result);

}  // namespace mha
