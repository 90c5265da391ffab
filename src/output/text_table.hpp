#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha {

enum class Align { left, right };

/// Columns for a terminal, two blanks apart. Cells are escaped for a terminal, and cut with `…` if the table would be
/// too wide; left-aligned (text) columns are cut first.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column.
  void add(std::vector<std::string> cells);
  /// Appends the title row (unless every title is empty) and all rows, no line wider than `columns`.
  void append_to(std::string& out, std::size_t columns) const;
  /// Titles of the columns for which that width has no room.
  std::vector<std::string> hidden(std::size_t columns) const;

 private:
  std::vector<std::size_t> widths(std::size_t columns) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace mha
