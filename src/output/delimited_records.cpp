#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/numbers.hpp"
#include "core/utf8.hpp"
#include "output/answers.hpp"
#include "output/delimited.hpp"
#include "output/record_maps.hpp"
#include "output/records.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

/// One row under construction.
class Row {
 public:
  Row(std::string& out, const Dialect& dialect) : out_(out), dialect_(dialect) {}

  Row& text(std::string_view field) {
    next();
    dialect_.append_field(out_, field);
    return *this;
  }
  template <class Integer>
  Row& integer(Integer value) {
    next();
    out_ += std::to_string(value);
    return *this;
  }
  Row& number(float value, std::optional<int> digits) {
    next();
    digits ? append_float(out_, value, *digits) : append_float(out_, value);
    return *this;
  }
  void end() { out_ += '\n'; }

 private:
  void next() {
    if (!std::exchange(first_, false)) out_ += dialect_.separator;
  }

  std::string& out_;
  const Dialect& dialect_;
  bool first_ = true;
};

// A JSON id as a field: of a string its text, all else as it is written.
std::string id_field(const std::string& id) {
  const auto text = id.starts_with('"') ? nlohmann::json::parse(id, nullptr, false) : nlohmann::json();
  return text.is_string() ? text.get<std::string>() : id;
}

class DelimitedFormatter : public RecordFormatter {
 public:
  DelimitedFormatter(RecordSchema schema, const Dialect& dialect) : schema_(std::move(schema)), dialect_(dialect) {}

  void begin(OutputStream& out) override {
    std::string header;
    Row row(header, dialect_);
    row.text("index");
    if (has_ids()) row.text("id");
    for (const std::string& column : columns()) row.text(column);
    if (schema_.errors) row.text("error");
    row.end();
    out.write(header);
  }

  void render(const Record& record, std::string& out) const override {
    if (!schema_.to_terminal) return render_rows(record, out);
    std::string rows;
    render_rows(record, rows);
    out += rows_for_terminal(rows);
  }

 private:
  void render_rows(const Record& record, std::string& out) const {
    if (record.bad()) return render_error(record, out);
    switch (schema_.kind) {
      case RecordKind::embed:
        return render_embedding(record, out);
      case RecordKind::encode:
        return render_states(record, out);
      case RecordKind::tokenize:
        return render_tokens(record, out);
      case RecordKind::attention:
        return render_attention(record, out);
      case RecordKind::similarity:
        return render_similarity(record, out);
      case RecordKind::decode:
        return finish(start(record, out).text(record.input.text));
      case RecordKind::task:
        return render_results(record, out);
    }
  }

  bool has_ids() const { return schema_.ids && schema_.kind != RecordKind::attention; }

  std::vector<std::string> columns() const {
    std::vector<std::string> names;
    const auto add_numbered = [&](char letter, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) names.push_back(letter + std::to_string(i));
    };
    switch (schema_.kind) {
      case RecordKind::embed:
        if (schema_.windows) names = {"window", "begin", "end"};
        if (schema_.parts.text) names.emplace_back("text");
        if (schema_.parts.embedding) add_numbered('e', schema_.embedding_width);
        break;
      case RecordKind::encode:
        names = {"position", "token", "input_id", "begin", "end"};
        if (schema_.parts.last_hidden_state) add_numbered('v', schema_.d_model);
        break;
      case RecordKind::tokenize:
        names = {"position", "token", "input_id", "type_id", "begin", "end", "special"};
        break;
      case RecordKind::attention:
        names = answer_columns(schema_.questions);
        if (names.empty()) names = {"layer", "head", "query", "query_token", "key", "key_token", "weight"};
        break;
      case RecordKind::similarity:
        if (schema_.similarity_matrix) {
          add_numbered('s', schema_.similarity_columns);
        } else {
          names = {"similarity"};
        }
        break;
      case RecordKind::decode:
        names = {"text"};
        break;
      case RecordKind::task:
        names = schema_.results.columns;
        if (schema_.parts.text) names.insert(names.begin(), "text");
        if (!schema_.results.list_name.empty()) names.insert(names.begin(), schema_.results.list_name);
        break;
    }
    return names;
  }

  Row start(const Record& record, std::string& out) const {
    Row row(out, dialect_);
    row.integer(record.input.index);
    if (has_ids()) row.text(id_field(record.input.id_json));
    return row;
  }

  void finish(Row& row) const {
    if (schema_.errors) row.text("");
    row.end();
  }

  void render_error(const Record& record, std::string& out) const {
    Row row = start(record, out);
    for (std::size_t i = columns().size(); i > 0; --i) row.text("");
    row.text(record.input.error).end();
  }

  void render_embedding(const Record& record, std::string& out) const {
    Row row = start(record, out);
    if (record.window) row.integer(record.window->number).integer(record.window->begin).integer(record.window->end);
    if (schema_.parts.text) row.text(record.input.text);
    if (schema_.parts.embedding) {
      const bool whole = schema_.embedding_type != EmbeddingType::float32;
      for (const float value : record.embedding) row.number(value, whole ? std::nullopt : schema_.digits);
    }
    finish(row);
  }

  void render_states(const Record& record, std::string& out) const {
    const std::vector<Span> offsets = offsets_in(record, schema_.offsets);
    for (std::size_t i = 0; i < record.tokens(); ++i) {
      Row row = start(record, out);
      row.integer(i).text(token(record, i)).integer(record.encoding.input_ids[i]);
      row.integer(std::size_t{offsets[i].begin}).integer(std::size_t{offsets[i].end});
      if (schema_.parts.last_hidden_state) {
        const float* state = record.last_hidden_state.data() + i * record.d_model;
        for (std::size_t k = 0; k < record.d_model; ++k) row.number(state[k], schema_.digits);
      }
      finish(row);
    }
  }

  void render_tokens(const Record& record, std::string& out) const {
    const std::vector<Span> offsets = offsets_in(record, schema_.offsets);
    const Encoding& encoding = record.encoding;
    for (std::size_t i = 0; i < record.tokens(); ++i) {
      Row row = start(record, out);
      row.integer(i).text(token(record, i)).integer(encoding.input_ids[i]).integer(encoding.token_type_ids[i]);
      row.integer(std::size_t{offsets[i].begin}).integer(std::size_t{offsets[i].end});
      finish(row.integer(std::int32_t{encoding.special_tokens_mask[i]}));
    }
  }

  void render_attention(const Record& record, std::string& out) const {
    if (schema_.questions.asks()) return render_answers(record, out);
    const AttentionMaps maps = shown_maps(record, schema_);
    const float* weight = maps.weights.data();
    const auto axis = [&](Row& row, const std::vector<std::size_t>& numbers, std::size_t i) {
      if (i < numbers.size()) {
        row.integer(numbers[i]);
      } else {
        row.text(maps.rolled_out ? "rollout" : "mean");
      }
    };
    for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
      for (std::size_t head = 0; head < maps.head_count; ++head) {
        for (const MapLabel& query : maps.labels) {
          for (const MapLabel& key : maps.labels) {
            Row row = start(record, out);
            axis(row, maps.layers, layer);
            axis(row, maps.heads, head);
            row.integer(query.position).text(query.piece);
            finish(row.integer(key.position).text(key.piece).number(*weight++, schema_.digits));
          }
        }
      }
    }
  }

  void render_answers(const Record& record, std::string& out) const {
    for (const Answer& answer :
         answers(asked_maps(attention_maps(record, schema_), schema_.questions), schema_.questions)) {
      for (const auto& cells : answer.rows) {
        Row row = start(record, out);
        for (const AnswerCell& cell : cells) row.text(cell_text(cell, schema_.digits));
        finish(row);
      }
    }
  }

  void render_similarity(const Record& record, std::string& out) const {
    Row row = start(record, out);
    for (const float value : record.similarity) row.number(value, schema_.digits);
    finish(row);
  }

  void render_results(const Record& record, std::string& out) const {
    for (const ResultRow& result : rows_of(record.result)) {
      Row row = start(record, out);
      if (!schema_.results.list_name.empty()) row.integer(result.list);
      if (schema_.parts.text) row.text(record.input.text);
      for (const AnswerCell& cell : result.cells) {
        if (cell.kind == AnswerCell::Kind::text)
          row.text(utf8::replace_invalid(cell.text));
        else
          row.text(cell_text(cell, schema_.digits));
      }
      finish(row);
    }
  }

  std::string_view token(const Record& record, std::size_t position) const {
    return schema_.tokenizer->token(record.encoding.input_ids[position]);
  }

  RecordSchema schema_;
  const Dialect& dialect_;
};

class IdsFormatter : public RecordFormatter {
 public:
  void render(const Record& record, std::string& out) const override {
    bool first = true;
    for (const std::int32_t id : record.encoding.input_ids) {
      if (!std::exchange(first, false)) out += ' ';
      out += std::to_string(id);
    }
    out += '\n';
  }
};

}  // namespace

std::unique_ptr<RecordFormatter> csv_formatter(RecordSchema schema) {
  return std::make_unique<DelimitedFormatter>(std::move(schema), kCsv);
}

std::unique_ptr<RecordFormatter> tsv_formatter(RecordSchema schema) {
  return std::make_unique<DelimitedFormatter>(std::move(schema), kTsv);
}

std::unique_ptr<RecordFormatter> ids_formatter() { return std::make_unique<IdsFormatter>(); }

}  // namespace mha
