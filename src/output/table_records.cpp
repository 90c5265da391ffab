#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "output/answers.hpp"
#include "output/record_maps.hpp"
#include "output/records.hpp"
#include "output/terminal_text.hpp"
#include "output/text_table.hpp"

namespace mha {
namespace {

constexpr int kTableDigits = 4;
constexpr std::size_t kNumberWidth = 8;  // "-12.3456"

std::string fixed(double value, std::optional<int> digits) {
  char text[400];
  const auto [end, error] =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::fixed, digits.value_or(kTableDigits));
  if (error != std::errc()) throw_internal("table: too many digits asked for");
  return {text, end};
}

double norm(const std::vector<float>& vector) {
  double sum = 0;
  for (const float value : vector) sum += double{value} * double{value};
  return std::sqrt(sum);
}

class TableFormatter : public RecordFormatter {
 public:
  explicit TableFormatter(RecordSchema schema) : schema_(std::move(schema)) {}

  void render(const Record& record, std::string& out) const override {
    if (record.bad()) {
      append_line(out, "error: " + record.input.error);
    } else {
      render_good(record, out);
    }
  }

 protected:
  virtual void render_good(const Record& record, std::string& out) const = 0;

  void append_line(std::string& out, std::string_view line) const {
    (out += fit(escape_controls(line), schema_.columns)) += '\n';
  }

  void append_title(const Record& record, std::string& out) const {
    std::string title = std::to_string(record.input.index);
    if (!record.input.id_json.empty()) title += " (" + record.input.id_json + ")";
    title += ": " + record.input.text;
    if (record.input.text_pair) title += " | " + *record.input.text_pair;
    append_line(out, title);
    std::string facts = std::to_string(record.tokens()) + (record.tokens() == 1 ? " token" : " tokens");
    if (record.truncated) facts += ", cut from " + std::to_string(record.encoding.full_length);
    append_line(out, facts);
  }

  /// What was done to the maps, one line; that the text was cut is in the title.
  void append_notes(const Record& record, std::string& out) const {
    std::string line;
    for (const std::string& note : map_notes(record, schema_)) {
      if (!note.starts_with("text cut")) line += (line.empty() ? "" : "; ") + note;
    }
    if (!line.empty()) append_line(out, line);
  }

  /// `name  v0 v1 v2 …` as far as the width goes.
  void append_vector(std::string& out, std::string_view name, const std::vector<float>& vector) const {
    const bool whole = schema_.embedding_type != EmbeddingType::float32;
    const std::optional<int> digits = whole ? 0 : schema_.digits;
    std::string line = std::string(name) + "  [" + std::to_string(vector.size()) + "]  ";
    if (!whole) line += "norm " + fixed(norm(vector), digits) + "  ";
    for (const float value : vector) {
      const std::string number = fixed(value, digits) + ' ';
      if (display_width(line) + number.size() + 1 > schema_.columns) {
        line += "…";
        break;
      }
      line += number;
    }
    append_line(out, line);
  }

  std::string token(const Record& record, std::size_t position) const {
    return std::string(schema_.tokenizer->token(record.encoding.input_ids[position]));
  }

  RecordSchema schema_;
};

class TokenTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    append_title(record, out);
    append_pieces(record, out);
    const Encoding& encoding = record.encoding;
    const std::vector<Span> offsets = offsets_in(record, schema_.offsets);
    TextTable table({{"#", Align::right},
                     {"token", Align::left},
                     {"id", Align::right},
                     {"type", Align::right},
                     {"begin", Align::right},
                     {"end", Align::right},
                     {"special", Align::right},
                     {"text", Align::left}});
    for (std::size_t i = 0; i < record.tokens(); ++i) {
      const bool special = encoding.special_tokens_mask[i] != 0;
      table.add({std::to_string(i), token(record, i), std::to_string(encoding.input_ids[i]),
                 std::to_string(encoding.token_type_ids[i]), std::to_string(offsets[i].begin),
                 std::to_string(offsets[i].end), special ? "1" : "0", special ? "" : surface(record, schema_, i)});
    }
    table.append_to(out, schema_.columns);
    out += '\n';
  }

  /// The text, each second piece of it on another background. What no piece covers stays plain; added specials are dim.
  void append_pieces(const Record& record, std::string& out) const {
    if (schema_.color == ColorDepth::none) return;
    constexpr const char* kBackgrounds[] = {"\x1b[30;48;5;153m", "\x1b[30;48;5;222m"};
    const Encoding& encoding = record.encoding;
    const std::string texts[] = {std::string(record.prompt) + record.input.text, record.input.text_pair.value_or("")};
    std::size_t used = 0;
    const auto append = [&](std::string_view text, const char* style) {
      const std::string shown = fit(escape_controls(text), schema_.columns);
      const std::size_t width = display_width(shown);
      if (used + width > schema_.columns) {
        out += '\n';
        used = 0;
      }
      used += width;
      out += style;
      out += shown;
      if (*style != '\0') out += "\x1b[0m";
    };
    int sequence = -1;
    std::uint32_t done = 0;
    std::size_t pieces = 0;
    for (std::size_t i = 0; i < record.tokens(); ++i) {
      if (encoding.sequence_ids[i] < 0) {
        append(utf8::replace_invalid(token(record, i)), "\x1b[2m");
        continue;
      }
      const Span span = encoding.offsets[i];
      if (encoding.sequence_ids[i] != sequence) {
        sequence = encoding.sequence_ids[i];
        done = span.begin;
      }
      const std::string_view text = texts[sequence];
      if (span.begin > done) append(text.substr(done, span.begin - done), "");
      const std::uint32_t begin = std::max(done, span.begin);
      if (span.end <= begin) continue;  // a further piece of the same characters
      append(text.substr(begin, span.end - begin), kBackgrounds[pieces++ % 2]);
      done = span.end;
    }
    if (used > 0) out += '\n';
  }
};

class StateTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    append_title(record, out);
    if (schema_.parts.embedding) append_vector(out, "embedding", record.embedding);
    if (schema_.parts.tokens || schema_.parts.last_hidden_state) append_tokens(record, out);
    if (schema_.parts.attentions) {
      out += '\n';
      append_notes(record, out);
      out += heatmap(attention_maps(record, schema_), {schema_.columns, schema_.color});
    }
    out += '\n';
  }

  void append_tokens(const Record& record, std::string& out) const {
    const Encoding& encoding = record.encoding;
    const std::vector<Span> offsets = offsets_in(record, schema_.offsets);
    std::vector<TextTable::Column> columns{
        {"#", Align::right}, {"token", Align::left}, {"id", Align::right}, {"offsets", Align::right}};
    const std::size_t shown = schema_.parts.last_hidden_state ? numbers_that_fit(record) : 0;
    for (std::size_t k = 0; k < shown; ++k) columns.push_back({"v" + std::to_string(k), Align::right});
    if (shown < record.d_model && shown > 0) columns.push_back({"", Align::left});
    TextTable table(columns);
    for (std::size_t i = 0; i < record.tokens(); ++i) {
      std::vector<std::string> cells{std::to_string(i), token(record, i), std::to_string(encoding.input_ids[i]),
                                     std::to_string(offsets[i].begin) + '-' + std::to_string(offsets[i].end)};
      for (std::size_t k = 0; k < shown; ++k) {
        cells.push_back(fixed(record.last_hidden_state[i * record.d_model + k], schema_.digits));
      }
      if (columns.size() > cells.size()) cells.emplace_back("…");
      table.add(std::move(cells));
    }
    table.append_to(out, schema_.columns);
  }

  std::size_t numbers_that_fit(const Record& record) const {
    constexpr std::size_t kTokenColumns = 36;
    const std::size_t room = schema_.columns > kTokenColumns ? schema_.columns - kTokenColumns : 0;
    return std::clamp(room / (kNumberWidth + 2), std::size_t{1}, std::max<std::size_t>(record.d_model, 1));
  }
};

class EmbeddingTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    std::string name = std::to_string(record.input.index);
    if (!record.input.id_json.empty()) name += " (" + record.input.id_json + ")";
    if (record.window) {
      name += '.' + std::to_string(record.window->number) + ' ' + std::to_string(record.window->begin) + '-' +
              std::to_string(record.window->end);
    }
    if (schema_.parts.text) append_line(out, name + ": " + record.input.text);
    if (schema_.parts.embedding) append_vector(out, escape_controls(name), record.embedding);
  }
};

class SimilarityTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    std::string line = pad_left(std::to_string(record.input.index), 5);
    std::size_t shown = 0;
    for (const float value : record.similarity) {
      const std::string number = "  " + pad_left(fixed(value, schema_.digits), kNumberWidth - 1);
      if (display_width(line) + number.size() + 2 > schema_.columns) break;
      line += number;
      ++shown;
    }
    line += shown < record.similarity.size() ? " …" : "  " + record.input.text;
    append_line(out, line);
  }
};

class DecodeTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    (out += escape_controls(record.input.text)) += '\n';
  }
};

/// A line an input where it has one result, else its text and a table.
class TaskTable : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    const ResultLayout& layout = schema_.results;
    const std::vector<ResultRow> results = rows_of(record.result);
    if (layout.shape == ResultLayout::Shape::members) {
      std::string line = pad_left(std::to_string(record.input.index), 5);
      if (!record.input.id_json.empty()) line += " (" + record.input.id_json + ")";
      for (const AnswerCell& cell : results.at(0).cells) {
        line += "  " + utf8::replace_invalid(table_text(cell, schema_.digits));
      }
      return append_line(out, line + "  " + record.input.text);
    }
    append_title(record, out);
    for (std::size_t i = 0; i < results.size();) {
      const std::size_t list = results[i].list;
      std::vector<std::vector<AnswerCell>> rows;
      for (; i < results.size() && results[i].list == list; ++i) {
        rows.push_back(results[i].cells);
        for (AnswerCell& cell : rows.back()) cell.text = utf8::replace_invalid(cell.text);
      }
      append_rows(out, layout.columns, rows, schema_.columns, schema_.digits);
      out += '\n';
    }
    if (results.empty()) out += '\n';
  }
};

class HeatmapFormatter : public TableFormatter {
 public:
  using TableFormatter::TableFormatter;

 private:
  void render_good(const Record& record, std::string& out) const override {
    append_title(record, out);
    if (schema_.questions.asks()) {
      append_notes(record, out);
      for (const Answer& answer :
           answers(asked_maps(attention_maps(record, schema_), schema_.questions), schema_.questions)) {
        append_answer(out, answer, schema_.columns, schema_.digits);
        out += '\n';
      }
      return;
    }
    append_notes(record, out);
    out += heatmap(shown_maps(record, schema_), {schema_.columns, schema_.color});
    out += '\n';
  }
};

}  // namespace

std::unique_ptr<RecordFormatter> table_formatter(RecordSchema schema) {
  switch (schema.kind) {
    case RecordKind::tokenize:
      return std::make_unique<TokenTable>(std::move(schema));
    case RecordKind::embed:
      return std::make_unique<EmbeddingTable>(std::move(schema));
    case RecordKind::similarity:
      return std::make_unique<SimilarityTable>(std::move(schema));
    case RecordKind::task:
      return std::make_unique<TaskTable>(std::move(schema));
    case RecordKind::decode:
      return std::make_unique<DecodeTable>(std::move(schema));
    case RecordKind::attention:
      return std::make_unique<HeatmapFormatter>(std::move(schema));
    case RecordKind::encode:
      break;
  }
  return std::make_unique<StateTable>(std::move(schema));
}

}  // namespace mha
