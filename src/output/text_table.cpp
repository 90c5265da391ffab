#include "output/text_table.hpp"

#include <algorithm>
#include <utility>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kLeastWidth = 4;

void append_row(std::string& out, const std::vector<TextTable::Column>& columns, const std::vector<std::string>& cells,
                const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    if (!line.empty()) line += kGap;
    line += columns[i].align == Align::left ? pad_right(cells[i], widths[i]) : pad_left(cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  (out += line) += '\n';
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw_internal("table: a row has another number of cells than the table");
  for (std::string& cell : cells) {
    if (utf8::first_invalid(cell) != utf8::kValid) cell = utf8::replace_invalid(cell);
    cell = escape_controls(cell);
  }
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths(std::size_t columns) const {
  std::vector<std::size_t> widths(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths[i] = display_width(columns_[i].title);
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width == 0 ? 0 : width + (sum > 0 ? kGap.size() : 0);
    return sum;
  };
  // Text gives way first, the widest column before the others; then whole columns from the right.
  for (std::size_t sum = total(); sum > columns; sum = total()) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].align != Align::left || widths[i] <= kLeastWidth) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest < columns_.size()) {
      widths[widest] -= std::min(sum - columns, widths[widest] - kLeastWidth);
      continue;
    }
    const auto last = std::find_if(widths.rbegin(), widths.rend(), [](std::size_t width) { return width > 0; });
    if (std::next(last) == widths.rend()) {
      *last = columns;
    } else {
      *last = 0;
    }
  }
  return widths;
}

std::vector<std::string> TextTable::hidden(std::size_t columns) const {
  const std::vector<std::size_t> widths = this->widths(columns);
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0 && !columns_[i].title.empty()) titles.push_back(columns_[i].title);
  }
  return titles;
}

void TextTable::append_to(std::string& out, std::size_t columns) const {
  const std::vector<std::size_t> widths = this->widths(columns);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool titled = std::any_of(titles.begin(), titles.end(), [](const auto& title) { return !title.empty(); });
  if (titled) append_row(out, columns_, titles, widths);
  for (const auto& row : rows_) append_row(out, columns_, row, widths);
}

}  // namespace mha
