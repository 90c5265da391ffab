#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/numbers.hpp"
#include "output/color_scale.hpp"
#include "output/explanation.hpp"
#include "output/explanation_steps.hpp"
#include "output/html.hpp"
#include "output/page.hpp"
#include "output/picture.hpp"

extern "C" {
extern const unsigned char mha_embedded_explanation_page[];
extern const std::size_t mha_embedded_explanation_page_size;
}

namespace mha {
namespace {

constexpr std::size_t kRows = 24;
constexpr std::size_t kColumns = 16;
constexpr std::size_t kHeadRows = 128;  // of every head's matrices
constexpr std::size_t kHeadColumns = 64;

std::string paragraph(std::string_view kind, const std::string& text) {
  return "<p" + (kind.empty() ? std::string() : " class=\"" + std::string(kind) + "\"") + ">" + escape_markup(text) +
         "</p>\n";
}

std::string table(const Explanation& explanation, const ShownMatrix& matrix) {
  const std::size_t rows = std::min(matrix.rows, kRows);
  const std::size_t columns = std::min(matrix.columns, matrix.keys ? kRows : kColumns);
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr><td></td>";
  for (std::size_t c = 0; c < columns; ++c) {
    out += "<th scope=\"col\">" +
           (matrix.keys ? escape_markup(display_name(explanation.labels[c])) : std::to_string(c)) + "</th>";
  }
  out += columns < matrix.columns ? "<th>…</th></tr></thead>\n<tbody>\n" : "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < rows; ++r) {
    out += "<tr><th scope=\"row\">" + escape_markup(row_name(explanation, matrix, r)) + "</th>";
    for (std::size_t c = 0; c < columns; ++c) {
      out += "<td>";
      if (const float value = matrix.values[r * matrix.columns + c]; std::isfinite(value)) append_float(out, value, 3);
      out += "</td>";
    }
    out += columns < matrix.columns ? "<td>…</td></tr>\n" : "</tr>\n";
  }
  if (rows < matrix.rows) out += "<tr><th>…</th></tr>\n";
  return out + "</tbody></table></div>\n";
}

std::string foldable(const Explanation& explanation, const ShownMatrix& matrix) {
  return "<details><summary>" + escape_markup(matrix.caption) + "</summary>\n" + table(explanation, matrix) +
         "</details>\n";
}

// The matrices of the first heads, which the script replaces by those of the chosen one.
std::string of_heads(const Explanation& explanation, const ExplanationStep& step) {
  std::string stages;
  std::string_view last;
  for (const ShownMatrix& matrix : step.head_matrices) {
    if (matrix.stage == last) continue;
    last = matrix.stage;
    stages += (stages.empty() ? "" : " ") + std::string(last);
  }
  std::string out = "<div data-stages=\"" + stages + "\">\n";
  for (const ShownMatrix& matrix : step.head_matrices) out += foldable(explanation, matrix);
  return out + "</div>\n";
}

// What the script draws from: matrices of every head, as far as a page can hold them.
class HeadNumbers {
 public:
  HeadNumbers(const Explanation& explanation, const std::vector<ExplanationStep>& steps, std::size_t token)
      : e_(explanation), rows_(std::min(explanation.labels.size(), kHeadRows)) {
    meta_["rows"] = rows_;
    meta_["token"] = token;
    meta_["d_head"] = e_.config.d_head;
    meta_["heads"] = e_.heads;
    meta_["tokens"] = nlohmann::ordered_json::array();
    for (const MapLabel& label : e_.labels) meta_["tokens"].push_back(display_name(label));
    for (const Rgb& c : kColorScale) meta_["scale"].push_back({c.red, c.green, c.blue});
    meta_["stages"] = nlohmann::ordered_json::array();
    std::string_view last;
    for (const ExplanationStep& step : steps) {
      for (const ShownMatrix& matrix : step.head_matrices) {
        if (matrix.stage != last) add(matrix);
        last = matrix.stage;
      }
    }
    if (const Stage* shares = e_.stage("output_share"); shares != nullptr) add_lengths(*shares);
  }

  std::string meta() const { return script_json(meta_); }
  std::string numbers() const { return base64(bytes_); }

 private:
  void add(const ShownMatrix& matrix) {
    const Stage& stage = *e_.stage(matrix.stage);
    const std::size_t shown = std::min(stage.cols, kHeadColumns);
    // Sentences about any token need whole rows of weights.
    const std::size_t stored = stage.name == "probabilities" ? stage.cols : shown;
    meta_["stages"].push_back({{"name", stage.name},
                               {"what", matrix.what},
                               {"rows", stage.rows},
                               {"columns", stage.cols},
                               {"shown", shown},
                               {"stored", stored},
                               {"keys", matrix.keys}});
    for (const std::size_t head : e_.heads) {
      for (std::size_t r = 0; r < rows_; ++r) {
        const float* row = e_.of_head(stage, head) + r * stage.cols;
        std::for_each(row, row + stored, [this](float value) { append(value); });
      }
    }
  }

  void add_lengths(const Stage& shares) {
    for (const std::size_t head : e_.heads) {
      for (std::size_t r = 0; r < rows_; ++r) {
        append(static_cast<float>(length_of(e_.of_head(shares, head) + r * shares.cols, shares.cols)));
      }
    }
  }

  void append(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (const unsigned shift : {0U, 8U, 16U, 24U}) bytes_.push_back(static_cast<char>(bits >> shift & 255U));
  }

  const Explanation& e_;
  std::size_t rows_;
  nlohmann::ordered_json meta_;
  std::string bytes_;
};

}  // namespace

std::string explanation_html(const Explanation& explanation, const ExplanationOptions& options) {
  const std::size_t token = options.token.value_or(most_telling_token(explanation));
  const std::string text = explanation.text + (explanation.text_pair ? " ‖ " + *explanation.text_pair : "");
  const std::size_t tokens = explanation.labels.size();
  std::string body = "<h1>" + escape_markup(text) + "</h1>\n";
  body += paragraph("facts", explanation.model + ", layer " + std::to_string(explanation.layer) + ", " +
                                 std::to_string(explanation.config.n_heads) + " heads of width " +
                                 std::to_string(explanation.config.d_head));
  for (const std::string& note : explanation.notes()) body += paragraph("note", note);
  if (explanation.heads.size() > kShownHeads) {
    body += paragraph("note static", "Without its script this page shows the matrices of two heads.");
  }
  if (tokens > kHeadRows) {
    body += paragraph(
        "note", "Matrices show the first tokens of " + std::to_string(tokens) + "; the format json has all numbers.");
  }
  const std::vector<ExplanationStep> steps = explanation_steps(explanation, token);
  for (const ExplanationStep& step : steps) {
    body += "<section>\n<h2>" + escape_markup(step.heading) + "</h2>\n" + paragraph("analogy", step.analogy);
    for (const std::string& sentence : step.sentences) body += paragraph({}, sentence);
    for (const ShownMatrix& matrix : step.matrices) body += foldable(explanation, matrix);
    if (!step.head_matrices.empty()) body += of_heads(explanation, step);
    if (!step.findings.empty()) {
      if (!step.title_after.empty()) {
        body += "<p>" + escape_markup(step.title_before) + "<span data-token>" +
                escape_markup(display_name(explanation.labels[token])) + "</span>" + escape_markup(step.title_after) +
                "</p>\n";
      }
      body += "<ul class=\"findings\" data-findings=\"" + std::string(step.name) + "\">\n";
      for (const std::string& finding : step.findings) body += "<li>" + escape_markup(finding) + "</li>\n";
      body += "</ul>\n";
    }
    body += "</section>\n";
  }
  const HeadNumbers numbers(explanation, steps, token);
  std::string page(reinterpret_cast<const char*>(mha_embedded_explanation_page), mha_embedded_explanation_page_size);
  fill_mark(page, "%NUMBERS%", numbers.numbers());
  fill_mark(page, "%META%", numbers.meta());
  fill_mark(page, "%BODY%", body);
  fill_mark(page, "%TITLE%", "attention explained: " + escape_markup(text.substr(0, text.find('\n'))));
  return page;
}

}  // namespace mha
