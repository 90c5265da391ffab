#include <array>
#include <string>
#include <utility>

#include "core/json_writer.hpp"
#include "output/answers.hpp"
#include "output/record_maps.hpp"
#include "output/records.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

class JsonFormatter : public RecordFormatter {
 public:
  explicit JsonFormatter(RecordSchema schema) : schema_(std::move(schema)) {}

  void render(const Record& record, std::string& out) const override {
    if (!schema_.to_terminal) return write_all(record, out);
    std::string text;
    write_all(record, text);
    out += json_for_terminal(text);
  }

 private:
  void write_all(const Record& record, std::string& out) const {
    JsonWriter json(out, schema_.digits);
    json.begin_object().member("index", record.input.index);
    if (!record.input.id_json.empty()) json.key("id").raw(record.input.id_json);
    if (record.bad()) {
      json.member("error", record.input.error);
    } else {
      write_record(json, record);
    }
    if (!record.input.extra_json.empty()) json.raw(record.input.extra_json);
    json.end_object();
  }

  void write_record(JsonWriter& json, const Record& record) const {
    if (record.window) {
      json.member("window", record.window->number);
      json.member("begin", record.window->begin).member("end", record.window->end);
    }
    if (schema_.parts.text) {
      json.member("text", record.input.text);
      if (record.input.text_pair) json.member("text_pair", *record.input.text_pair);
    }
    if (schema_.parts.tokens) write_tokens(json, record);
    if (record.truncated) json.member("truncated", true);
    write_arrays(json, record);
    if (schema_.kind == RecordKind::task) write_result(json, record);
    if (record.token_count) json.member("count", *record.token_count);
    if (record.token_window) json.member("window", *record.token_window);
  }

  void write_tokens(JsonWriter& json, const Record& record) const {
    const Encoding& encoding = record.encoding;
    const auto number = [&](auto value) { json.number(static_cast<std::int32_t>(value)); };
    json.key("tokens").list(encoding.input_ids, [&](std::int32_t id) { json.text(schema_.tokenizer->token(id)); });
    json.key("input_ids").list(encoding.input_ids, number);
    json.key("token_type_ids").list(encoding.token_type_ids, number);
    json.key("special_tokens_mask").list(encoding.special_tokens_mask, number);
    json.key("offsets").list(offsets_in(record, schema_.offsets),
                             [&](Span span) { json.begin_array().number(span.begin).number(span.end).end_array(); });
  }

  void write_arrays(JsonWriter& json, const Record& record) const {
    const std::size_t tokens = record.tokens();
    if (schema_.kind == RecordKind::similarity) {
      json.key("similarity");
      if (schema_.similarity_matrix) {
        json.numbers(record.similarity, std::array{record.similarity.size()});
      } else {
        json.number(record.similarity[0]);
      }
    }
    if (schema_.parts.embedding) {
      const bool whole = schema_.embedding_type != EmbeddingType::float32;
      json.key("embedding")
          .numbers(record.embedding, std::array{record.embedding.size()}, whole ? std::nullopt : schema_.digits);
    }
    if (schema_.parts.last_hidden_state) {
      json.key(schema_.token_key()).numbers(record.last_hidden_state, std::array{tokens, record.d_model});
    }
    if (schema_.parts.hidden_states) {
      json.key("hidden_states").numbers(record.hidden_states, std::array{schema_.n_layers + 1, tokens, record.d_model});
    }
    if (schema_.kind == RecordKind::attention && (schema_.questions.changes_maps() || schema_.questions.asks())) {
      return write_questions(json, record);
    }
    if (!schema_.parts.attentions) return;
    json.key("attentions")
        .numbers(record.attentions, std::array{schema_.layers.size(), schema_.heads.size(), tokens, tokens});
    write_selection(json);
  }

  void write_selection(JsonWriter& json) const {
    if (!schema_.name_layers_and_heads) return;
    const auto number = [&](std::size_t value) { json.number(value); };
    json.key("layers").list(schema_.layers, number);
    json.key("heads").list(schema_.heads, number);
  }

  void write_result(JsonWriter& json, const Record& record) const {
    const ResultLayout& layout = schema_.results;
    const std::vector<ResultRow> rows = rows_of(record.result);
    if (layout.shape == ResultLayout::Shape::members) return write_row(json, layout.columns, rows.at(0).cells);
    const bool nested = layout.shape == ResultLayout::Shape::lists;
    json.key(layout.key).begin_array();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (nested && (i == 0 || rows[i].list != rows[i - 1].list)) json.begin_array();
      json.begin_object();
      write_row(json, layout.columns, rows[i].cells);
      json.end_object();
      if (nested && (i + 1 == rows.size() || rows[i].list != rows[i + 1].list)) json.end_array();
    }
    json.end_array();
  }

  // The words that maps are about, the maps as they are looked at, and the answers.
  void write_questions(JsonWriter& json, const Record& record) const {
    const AttentionQuestions& questions = schema_.questions;
    const AttentionMaps maps = attention_maps(record, schema_);
    const AttentionMaps asked = asked_maps(maps, questions);
    if (questions.words) json.key("words").list(asked.labels, [&](const MapLabel& label) { json.text(label.text); });
    if (questions.changes_maps() || schema_.parts.attentions) {
      const AttentionMaps shown = shown_maps(maps, questions);
      if (shown.tokens() < asked.tokens()) {
        json.key("positions").list(shown.labels, [&](const MapLabel& label) { json.number(label.position); });
      }
      if (questions.rollout) {
        json.key("rollout").numbers(shown.weights, std::array{shown.tokens(), shown.tokens()});
      } else if (schema_.parts.attentions) {
        json.key("attentions")
            .numbers(shown.weights, std::array{shown.layer_count, shown.head_count, shown.tokens(), shown.tokens()});
      }
    }
    write_selection(json);
    if (questions.asks()) write_answers(json, answers(asked, questions));
  }

  RecordSchema schema_;
};

class JsonArrayFormatter : public JsonFormatter {
 public:
  using JsonFormatter::JsonFormatter;
  void begin(OutputStream& out) override { out.write("["); }
  void resume(OutputStream& out) override { first_ = out.position() == 1; }
  void join(const Record& record, OutputStream& out) override {
    if (!std::exchange(first_, false)) out.write(",\n");
    out.write(record.rendered);
  }
  void end(OutputStream& out) override { out.write("]\n"); }

 private:
  bool first_ = true;
};

class JsonLinesFormatter : public JsonFormatter {
 public:
  using JsonFormatter::JsonFormatter;
  void render(const Record& record, std::string& out) const override {
    JsonFormatter::render(record, out);
    out += '\n';
  }
};

}  // namespace

std::unique_ptr<RecordFormatter> json_formatter(RecordSchema schema) {
  return std::make_unique<JsonArrayFormatter>(std::move(schema));
}

std::unique_ptr<RecordFormatter> jsonl_formatter(RecordSchema schema) {
  return std::make_unique<JsonLinesFormatter>(std::move(schema));
}

}  // namespace mha
