#include <algorithm>
#include <charconv>
#include <cmath>

#include "output/explanation.hpp"
#include "output/explanation_steps.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

constexpr std::size_t kRows = 4;      // of a corner of vectors
constexpr std::size_t kKeyRows = 12;  // of a token by token matrix
constexpr std::size_t kCell = 8;      // columns of a number
constexpr std::size_t kLabel = 12;    // widest row label

// Words wrapped to the width, each line indented.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::string line(indent, ' ');
  std::size_t width = indent;
  bool empty = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t blank = std::min(text.find(' ', begin), text.size());
    const std::string word = fit(text.substr(begin, blank - begin), columns > indent ? columns - indent : 1);
    begin = blank + 1;
    const std::size_t word_width = display_width(word);
    if (!empty && width + 1 + word_width > columns) {
      out += line + "\n";
      line.assign(indent, ' ');
      width = indent;
      empty = true;
    }
    if (!empty) {
      line += ' ';
      ++width;
    }
    line += word;
    width += word_width;
    empty = false;
  }
  return empty ? out : out + line + "\n";
}

std::string number_cell(float value) {
  if (!std::isfinite(value)) return pad_left("·", kCell);
  const double size = std::fabs(static_cast<double>(value));
  const int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
  return pad_left(std::string_view(text, static_cast<std::size_t>(end - text)), kCell);
}

class Table {
 public:
  Table(const Explanation& explanation, const ExplanationOptions& options) : e_(explanation), options_(options) {
    for (const MapLabel& label : e_.labels)
      label_columns_ = std::max(label_columns_, display_width(display_name(label)));
    label_columns_ = std::min(label_columns_, kLabel);
  }

  std::string draw() {
    const std::size_t token = options_.token.value_or(most_telling_token(e_));
    out_ += fit(escape_controls(e_.text + (e_.text_pair ? " ‖ " + *e_.text_pair : "")), options_.columns) + "\n";
    out_ += fit(e_.model + ", layer " + std::to_string(e_.layer), options_.columns) + "\n";
    for (const std::string& note : e_.notes()) out_ += wrapped(note, options_.columns, 0);
    for (const ExplanationStep& step : explanation_steps(e_, token)) {
      out_ += "\n" + bold(fit(step.heading, options_.columns)) + "\n";
      out_ += wrapped(step.analogy, options_.columns, 2);
      for (const std::string& sentence : step.sentences) out_ += wrapped(sentence, options_.columns, 2);
      if (!step.head_matrices.empty() && e_.heads.size() > kShownHeads) {
        out_ += wrapped("Two of the " + std::to_string(e_.heads.size()) +
                            " heads are shown; a choice of heads shows others, the formats html and json have all.",
                        options_.columns, 2);
      }
      for (const ShownMatrix& matrix : step.matrices) corner(matrix);
      for (const ShownMatrix& matrix : step.head_matrices) corner(matrix);
      if (!step.findings.empty())
        out_ += "\n" + wrapped(step.title_after.empty()
                                   ? ""
                                   : step.title_before + display_name(e_.labels[token]) + step.title_after,
                               options_.columns, 2);
      for (const std::string& finding : step.findings) out_ += wrapped(finding, options_.columns, 2);
    }
    return out_;
  }

 private:
  std::string bold(const std::string& text) const {
    return options_.color == ColorDepth::none ? text : "\x1b[1m" + text + "\x1b[0m";
  }

  // The first rows and columns, the rest as dots.
  void corner(const ShownMatrix& matrix) {
    out_ += "\n" + wrapped(matrix.caption, options_.columns, 2);
    const std::size_t left = 2 + label_columns_ + 1;
    const std::size_t room = options_.columns > left ? (options_.columns - left) / kCell : 1;
    const bool all = matrix.columns <= std::max<std::size_t>(room, 1);
    const std::size_t columns = all ? matrix.columns : std::max<std::size_t>(room, 2) - 1;
    out_.append(left, ' ');
    for (std::size_t c = 0; c < columns; ++c) {
      out_ += pad_left(fit(matrix.keys ? display_name(e_.labels[c]) : std::to_string(c), kCell - 1), kCell);
    }
    out_ += all ? "\n" : "  …\n";
    // A line that says there is one more takes as much room as that one.
    const std::size_t most = matrix.keys ? kKeyRows : kRows;
    const std::size_t rows = matrix.rows > most + 1 ? most : matrix.rows;
    for (std::size_t r = 0; r < rows; ++r) {
      out_ += "  " + pad_left(row_name(e_, matrix, r), label_columns_) + " ";
      for (std::size_t c = 0; c < columns; ++c) out_ += number_cell(matrix.values[r * matrix.columns + c]);
      out_ += all ? "\n" : "  …\n";
    }
    if (rows < matrix.rows) out_ += "  " + pad_left("…", label_columns_) + "\n";
  }

  const Explanation& e_;
  const ExplanationOptions& options_;
  std::size_t label_columns_ = 1;
  std::string out_;
};

}  // namespace

std::string explanation_table(const Explanation& explanation, const ExplanationOptions& options) {
  return Table(explanation, options).draw();
}

}  // namespace mha
