#include <algorithm>
#include <cmath>

#include "mha/core/numbers.hpp"
#include "mha/output/explanation.hpp"
#include "mha/output/html.hpp"
#include "output/explanation_steps.hpp"
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

std::string paragraph(std::string_view kind, const std::string& text) {
  return "<p" + (kind.empty() ? std::string() : " class=\"" + std::string(kind) + "\"") + ">" + escape_markup(text) + "</p>\n";
}

// Weights are coloured as in every other picture, by SVG: the page's policy allows no style attributes.
std::string weights_picture(const Explanation& explanation, const ShownMatrix& matrix) {
  AttentionMaps maps;
  maps.labels = explanation.labels;
  maps.layer_count = 1;
  maps.head_count = 1;
  maps.weights.assign(matrix.values, matrix.values + matrix.rows * matrix.columns);
  return map_svg(maps);
}

std::string table(const Explanation& explanation, const ShownMatrix& matrix) {
  const std::size_t rows = std::min(matrix.rows, kRows);
  const std::size_t columns = std::min(matrix.columns, matrix.keys ? kRows : kColumns);
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr><td></td>";
  for (std::size_t c = 0; c < columns; ++c) {
    out += "<th scope=\"col\">" + (matrix.keys ? escape_markup(display_name(explanation.labels[c])) : std::to_string(c)) + "</th>";
  }
  out += columns < matrix.columns ? "<th>…</th></tr></thead>\n<tbody>\n" : "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < rows; ++r) {
    out += "<tr><th scope=\"row\">" + escape_markup(display_name(explanation.labels[r])) + "</th>";
    for (std::size_t c = 0; c < columns; ++c) {
      out += "<td>";
      append_float(out, matrix.values[r * matrix.columns + c], 3);
      out += "</td>";
    }
    out += columns < matrix.columns ? "<td>…</td></tr>\n" : "</tr>\n";
  }
  if (rows < matrix.rows) out += "<tr><th>…</th></tr>\n";
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string explanation_html(const Explanation& explanation, const ExplanationOptions& options) {
  const std::size_t token = options.token.value_or(most_telling_token(explanation));
  const std::string text = explanation.text + (explanation.text_pair ? " ‖ " + *explanation.text_pair : "");
  std::string body = "<h1>" + escape_markup(text) + "</h1>\n";
  body += paragraph("facts", explanation.model + ", layer " + std::to_string(explanation.layer) + ", " +
                                 std::to_string(explanation.n_heads) + " heads of " + std::to_string(explanation.d_head));
  for (const ExplanationStep& step : explanation_steps(explanation, token)) {
    body += "<section>\n<h2>" + escape_markup(step.heading) + "</h2>\n" + paragraph("analogy", step.analogy);
    for (const std::string& sentence : step.sentences) body += paragraph({}, sentence);
    for (const ShownMatrix& matrix : step.matrices) {
      const bool weights = matrix.caption.find("softmax by row") != std::string::npos;
      body += weights ? "<details open>" : "<details>";
      body += "<summary>" + escape_markup(matrix.caption) + "</summary>\n";
      body += weights ? weights_picture(explanation, matrix) : std::string();
      body += table(explanation, matrix) + "</details>\n";
    }
    if (!step.findings.empty()) {
      if (!step.findings_title.empty()) body += paragraph({}, step.findings_title);
      body += "<ul class=\"findings\">\n";
      for (const std::string& finding : step.findings) body += "<li>" + escape_markup(finding) + "</li>\n";
      body += "</ul>\n";
    }
    body += "</section>\n";
  }
  std::string page(reinterpret_cast<const char*>(mha_embedded_explanation_page), mha_embedded_explanation_page_size);
  fill_mark(page, "%BODY%", body);
  fill_mark(page, "%TITLE%", "attention explained: " + escape_markup(text.substr(0, text.find('\n'))));
  return page;
}

}  // namespace mha
