#include "output/answers.hpp"

#include <charconv>
#include <iterator>
#include <utility>

#include "core/numbers.hpp"
#include "output/explanation_steps.hpp"
#include "output/terminal_text.hpp"
#include "output/text_table.hpp"

namespace mha {
namespace {

constexpr int kTableDigits = 4;

const std::vector<std::string> kFindColumns{"query", "query_token", "key",    "key_token",
                                            "layer", "head",        "weight", "rank"};
const std::vector<std::string> kEdgeColumns{"layer", "head", "query", "query_token", "key", "key_token", "weight"};
const std::vector<std::string> kStatisticsColumns{"layer", "head",  "entropy", "self",     "previous",
                                                  "next",  "first", "special", "distance", "tokens"};

Answer find_answer(const AttentionMaps& maps, const AttentionQuestions& questions) {
  Answer answer{"find", "heads by the weight of one edge, strongest first", kFindColumns, {}, false};
  for (const auto& [query_name, key_name] : questions.find) {
    const std::size_t query = find_label(maps, query_name);
    const std::size_t key = find_label(maps, key_name);
    for (const FoundEdge& edge : rank_heads(maps, query, key)) {
      answer.rows.push_back({AnswerCell::of(maps.labels[query].position),
                             AnswerCell::of(display_name(maps.labels[query])),
                             AnswerCell::of(maps.labels[key].position), AnswerCell::of(display_name(maps.labels[key])),
                             AnswerCell::of(edge.layer), AnswerCell::of(edge.head),
                             AnswerCell::of(static_cast<double>(edge.weight)), AnswerCell::of(edge.rank)});
    }
  }
  return answer;
}

Answer edges_answer(const AttentionMaps& maps, const AttentionQuestions& questions) {
  Answer answer{"edges", "the strongest edges of each query", kEdgeColumns, {}, false};
  const AttentionMaps shown = questions.hide_specials ? without_specials(maps) : maps;
  for (const Edge& edge : top_edges(shown, questions.top)) {
    answer.rows.push_back(
        {AnswerCell::of(edge.layer), AnswerCell::of(edge.head), AnswerCell::of(shown.labels[edge.query].position),
         AnswerCell::of(display_name(shown.labels[edge.query])), AnswerCell::of(shown.labels[edge.key].position),
         AnswerCell::of(display_name(shown.labels[edge.key])), AnswerCell::of(static_cast<double>(edge.weight))});
  }
  return answer;
}

}  // namespace

Answer statistics_answer(const std::vector<HeadStatistics>& heads) {
  Answer answer{"stats", "what each head does, averaged over query tokens", kStatisticsColumns, {}, false};
  for (const HeadStatistics& head : heads) {
    answer.rows.push_back({AnswerCell::of(head.layer), AnswerCell::of(head.head), AnswerCell::of(head.entropy),
                           AnswerCell::of(head.self), AnswerCell::of(head.previous), AnswerCell::of(head.next),
                           AnswerCell::of(head.first), AnswerCell::of(head.special), AnswerCell::of(head.distance),
                           AnswerCell::of(head.tokens)});
  }
  return answer;
}

std::vector<std::string> answer_columns(const AttentionQuestions& questions) {
  if (!questions.find.empty()) return kFindColumns;
  if (questions.top > 0) return kEdgeColumns;
  return questions.stats ? kStatisticsColumns : std::vector<std::string>();
}

std::vector<Answer> answers(const AttentionMaps& maps, const AttentionQuestions& questions) {
  std::vector<Answer> result;
  if (!questions.find.empty()) result.push_back(find_answer(maps, questions));
  if (questions.top > 0) result.push_back(edges_answer(maps, questions));
  if (questions.stats) {
    HeadStatisticsSum sum;
    sum.add(maps, questions.hide_specials);
    result.push_back(statistics_answer(sum.means()));
  }
  return result;
}

std::string cell_text(const AnswerCell& cell, std::optional<int> digits) {
  if (cell.kind == AnswerCell::Kind::text) return cell.text;
  if (cell.kind == AnswerCell::Kind::integer) return std::to_string(cell.integer);
  std::string text;
  if (digits) {
    append_float(text, static_cast<float>(cell.number), *digits);
  } else {
    append_float(text, static_cast<float>(cell.number));
  }
  return text;
}

void write_row(JsonWriter& json, const std::vector<std::string>& columns, const std::vector<AnswerCell>& cells) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    json.key(columns[i]);
    switch (cells[i].kind) {
      case AnswerCell::Kind::text:
        json.text(cells[i].text);
        break;
      case AnswerCell::Kind::integer:
        json.number(cells[i].integer);
        break;
      case AnswerCell::Kind::number:
        json.number(static_cast<float>(cells[i].number));
    }
  }
}

void write_answers(JsonWriter& json, const std::vector<Answer>& answers) {
  for (const Answer& answer : answers) {
    json.key(answer.name);
    if (!answer.single) json.begin_array();
    for (const auto& row : answer.rows) {
      json.begin_object();
      write_row(json, answer.columns, row);
      json.end_object();
    }
    if (!answer.single) json.end_array();
  }
}

std::string answers_text(const std::vector<Answer>& answers, Format format, std::size_t width,
                         std::optional<int> digits) {
  std::string text;
  switch (format) {
    case Format::json: {
      JsonWriter json(text, digits);
      json.begin_object();
      write_answers(json, answers);
      json.end_object();
      text += '\n';
      break;
    }
    case Format::jsonl:
      for (const Answer& answer : answers) {
        for (const auto& row : answer.rows) {
          std::string line;
          JsonWriter json(line, digits);
          json.begin_object();
          if (answer.single) json.key(answer.name).begin_object();
          write_row(json, answer.columns, row);
          if (answer.single) json.end_object();
          json.end_object();
          text += line + '\n';
        }
      }
      break;
    case Format::csv:
      text = answer_rows(answers[0], kCsv, digits);
      break;
    case Format::tsv:
      text = answer_rows(answers[0], kTsv, digits);
      break;
    default:
      for (const Answer& answer : answers) {
        append_answer(text, answer, width, digits);
        text += '\n';
      }
  }
  return text;
}

std::string answer_rows(const Answer& answer, const Dialect& dialect, std::optional<int> digits) {
  std::string out;
  const auto row = [&](std::size_t size, auto&& cell) {
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out += dialect.separator;
      dialect.append_field(out, cell(i));
    }
    out += '\n';
  };
  row(answer.columns.size(), [&](std::size_t i) { return answer.columns[i]; });
  for (const auto& cells : answer.rows) row(cells.size(), [&](std::size_t i) { return cell_text(cells[i], digits); });
  return out;
}

std::string table_text(const AnswerCell& cell, std::optional<int> digits) {
  if (cell.kind != AnswerCell::Kind::number) return cell_text(cell, digits);
  char text[400];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), cell.number, std::chars_format::fixed,
                                          digits.value_or(kTableDigits));
  return {text, end};
}

void append_rows(std::string& out, const std::vector<std::string>& columns,
                 const std::vector<std::vector<AnswerCell>>& rows, std::size_t width, std::optional<int> digits) {
  std::vector<TextTable::Column> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool text = !rows.empty() && rows[0][i].kind == AnswerCell::Kind::text;
    titles.push_back({columns[i], text ? Align::left : Align::right});
  }
  TextTable table(titles);
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const AnswerCell& cell : row) cells.push_back(table_text(cell, digits));
    table.add(std::move(cells));
  }
  table.append_to(out, width);
  std::string hidden;
  for (const std::string& title : table.hidden(width)) hidden += (hidden.empty() ? "" : ", ") + title;
  if (!hidden.empty()) out += fit("not shown at this width: " + hidden, width) + "\n";
}

void append_answer(std::string& out, const Answer& answer, std::size_t columns, std::optional<int> digits) {
  out += fit(answer.title, columns) + "\n";
  append_rows(out, answer.columns, answer.rows, columns, digits);
}

}  // namespace mha
