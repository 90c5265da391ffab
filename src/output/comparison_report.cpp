#include "output/comparison_report.hpp"

#include "core/json_writer.hpp"
#include "output/answers.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

Answer layers_answer(const Comparison& comparison) {
  Answer answer{
      "layers", "hidden states by layer, 0 is the embedding output", {"layer", "cosine", "max_abs"}, {}, false};
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    answer.rows.push_back(
        {AnswerCell::of(i), AnswerCell::of(comparison.layers[i].cosine), AnswerCell::of(comparison.layers[i].max_abs)});
  }
  return answer;
}

Answer heads_answer(const Comparison& comparison) {
  Answer answer{"heads", "attention by head, Jensen-Shannon distance", {"layer", "head", "distance"}, {}, false};
  for (const HeadDifference& head : comparison.heads) {
    answer.rows.push_back({AnswerCell::of(head.layer), AnswerCell::of(head.head), AnswerCell::of(head.distance)});
  }
  return answer;
}

std::string json_of(const Comparison& comparison, bool within, std::optional<int> digits) {
  std::string out;
  JsonWriter json(out, digits);
  json.begin_object().key("embedding");
  if (comparison.embedding) {
    json.begin_object();
    json.member("cosine", static_cast<float>(comparison.embedding->cosine));
    json.member("max_abs", static_cast<float>(comparison.embedding->max_abs));
    json.end_object();
  } else {
    json.null();
  }
  write_answers(json, {layers_answer(comparison), heads_answer(comparison)});
  json.member("within", within).end_object();
  return out;
}

/// Long form: one row for the vectors, for each layer and for each head.
Answer rows_of(const Comparison& comparison, std::size_t index) {
  Answer answer{"compare", {}, {"index", "part", "layer", "head", "cosine", "max_abs", "distance"}, {}, false};
  const AnswerCell none = AnswerCell::of(std::string());
  const AnswerCell at = AnswerCell::of(index);
  if (comparison.embedding) {
    answer.rows.push_back({at, AnswerCell::of(std::string("embedding")), none, none,
                           AnswerCell::of(comparison.embedding->cosine), AnswerCell::of(comparison.embedding->max_abs),
                           none});
  }
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    answer.rows.push_back({at, AnswerCell::of(std::string("layer")), AnswerCell::of(i), none,
                           AnswerCell::of(comparison.layers[i].cosine), AnswerCell::of(comparison.layers[i].max_abs),
                           none});
  }
  for (const HeadDifference& head : comparison.heads) {
    answer.rows.push_back({at, AnswerCell::of(std::string("head")), AnswerCell::of(head.layer),
                           AnswerCell::of(head.head), none, none, AnswerCell::of(head.distance)});
  }
  return answer;
}

std::string table_of(const Comparison& comparison, const std::string& title, std::size_t columns,
                     std::optional<int> digits) {
  std::string out = fit(escape_controls(title), columns) + "\n";
  const std::optional<int> places = digits ? digits : std::optional<int>(6);
  if (comparison.embedding) {
    out += "embedding: cosine " + cell_text(AnswerCell::of(comparison.embedding->cosine), places) +
           ", greatest difference " + cell_text(AnswerCell::of(comparison.embedding->max_abs), places) + "\n";
  } else {
    out += "embedding: of different widths\n";
  }
  if (!comparison.layers.empty()) append_answer(out, layers_answer(comparison), columns, places);
  if (!comparison.heads.empty()) append_answer(out, heads_answer(comparison), columns, places);
  if (comparison.layers.empty() && comparison.heads.empty()) {
    out += "hidden states and attention: of different shapes\n";
  }
  return out + "\n";
}

}  // namespace

void ComparisonReport::add(const Comparison& comparison, const std::string& title, bool within) {
  switch (format_) {
    case Format::json:
      if (count_ == 0) {
        first_ = json_of(comparison, within, digits_);
      } else {
        out_.write((count_ == 1 ? "[" + first_ : std::string()) + "," + json_of(comparison, within, digits_));
      }
      break;
    case Format::jsonl:
      out_.write(json_of(comparison, within, digits_) + "\n");
      break;
    case Format::csv:
    case Format::tsv:
      write_rows(comparison);
      break;
    default:
      out_.write(table_of(comparison, title, columns_, digits_));
  }
  ++count_;
}

void ComparisonReport::finish() {
  if (format_ == Format::json) out_.write(count_ == 0 ? "[]\n" : count_ == 1 ? first_ + "\n" : "]\n");
  if (count_ == 0 && info(format_).delimited) write_rows({});
}

// The header stands above the first rows only.
void ComparisonReport::write_rows(const Comparison& comparison) {
  const std::string text = answer_rows(rows_of(comparison, count_), format_ == Format::csv ? kCsv : kTsv, digits_);
  out_.write(count_ == 0 ? text : text.substr(text.find('\n') + 1));
}

}  // namespace mha
