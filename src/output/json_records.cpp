#include <array>
#include <string>
#include <utility>

#include "core/json_text.hpp"
#include "output/answers.hpp"
#include "output/json_values.hpp"
#include "output/record_maps.hpp"
#include "output/records.hpp"

namespace mha {
namespace {

template <class Values, class Append>
void append_list(std::string& out, const Values& values, Append append) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!std::exchange(first, false)) out += ',';
    append(value);
  }
  out += ']';
}

class JsonFormatter : public RecordFormatter {
 public:
  explicit JsonFormatter(RecordSchema schema) : schema_(std::move(schema)) {}

  void render(const Record& record, std::string& out) const override {
    out += "{\"index\":";
    append_number(out, record.index);
    if (!record.id.empty()) (out += ",\"id\":") += record.id;
    if (record.bad()) {
      out += ",\"error\":";
      append_json_piece(out, record.error);
    } else {
      if (record.window) append_window(*record.window, out);
      append_text(record, out);
      if (schema_.parts.tokens) append_tokens(record, out);
      if (record.encoding.truncated()) out += ",\"truncated\":true";
      append_arrays(record, out);
      if (schema_.kind == RecordKind::task) append_results(record, out);
      if (!record.analysis.empty()) (out += ',') += record.analysis;
    }
    if (!record.extra.empty()) (out += ',') += record.extra;
    out += '}';
  }

 protected:
  void append_text(const Record& record, std::string& out) const {
    if (!schema_.parts.text) return;
    out += ",\"text\":";
    append_json_string(out, record.text);
    if (record.text_pair) {
      out += ",\"text_pair\":";
      append_json_string(out, *record.text_pair);
    }
  }

  void append_window(const Window& window, std::string& out) const {
    out += ",\"window\":";
    append_number(out, window.number);
    out += ",\"begin\":";
    append_number(out, window.begin);
    out += ",\"end\":";
    append_number(out, window.end);
  }

  void append_tokens(const Record& record, std::string& out) const {
    const auto number = [&](auto value) { append_number(out, static_cast<std::int32_t>(value)); };
    const Encoding& encoding = record.encoding;
    out += ",\"tokens\":";
    append_list(out, encoding.input_ids,
                [&](std::int32_t id) { append_json_piece(out, schema_.tokenizer->token(id)); });
    out += ",\"input_ids\":";
    append_list(out, encoding.input_ids, number);
    out += ",\"token_type_ids\":";
    append_list(out, encoding.token_type_ids, number);
    out += ",\"special_tokens_mask\":";
    append_list(out, encoding.special_tokens_mask, number);
    out += ",\"offsets\":";
    append_list(out, offsets_in(record, schema_.offsets), [&](Span span) {
      out += '[';
      append_number(out, std::size_t{span.begin});
      out += ',';
      append_number(out, std::size_t{span.end});
      out += ']';
    });
  }

  void append_arrays(const Record& record, std::string& out) const {
    const std::size_t tokens = record.tokens();
    const auto array = [&](const char* key, const std::vector<float>& values, auto shape) {
      ((out += ",\"") += key) += "\":";
      append_nested_array(out, values, shape, schema_.digits);
    };
    const bool whole = schema_.embedding_type != EmbeddingType::float32;
    if (schema_.kind == RecordKind::similarity) {
      out += ",\"similarity\":";
      if (schema_.similarity_matrix) {
        append_nested_array(out, record.similarity, std::array{record.similarity.size()}, schema_.digits);
      } else {
        append_number(out, record.similarity[0], schema_.digits);
      }
    }
    if (schema_.parts.embedding && whole) {
      out += ",\"embedding\":";
      append_nested_array(out, record.embedding, std::array{record.embedding.size()}, std::nullopt);
    } else if (schema_.parts.embedding) {
      array("embedding", record.embedding, std::array{record.embedding.size()});
    }
    if (schema_.parts.last_hidden_state) {
      array("last_hidden_state", record.last_hidden_state, std::array{tokens, record.d_model});
    }
    if (schema_.parts.hidden_states) {
      array("hidden_states", record.hidden_states, std::array{schema_.n_layers + 1, tokens, record.d_model});
    }
    if (schema_.kind == RecordKind::attention && (schema_.questions.changes_maps() || schema_.questions.asks())) {
      return append_questions(record, out);
    }
    if (!schema_.parts.attentions) return;
    array("attentions", record.attentions, std::array{schema_.layers.size(), schema_.heads.size(), tokens, tokens});
    if (!schema_.name_layers_and_heads) return;
    const auto number = [&](std::size_t value) { append_number(out, value); };
    out += ",\"layers\":";
    append_list(out, schema_.layers, number);
    out += ",\"heads\":";
    append_list(out, schema_.heads, number);
  }

  void append_results(const Record& record, std::string& out) const {
    const ResultLayout& layout = schema_.results;
    out += ',';
    if (layout.shape == ResultLayout::Shape::members) {
      return append_row_members(out, layout.columns, record.results.at(0).cells, schema_.digits);
    }
    ((out += '"') += layout.key) += "\":[";
    const bool nested = layout.shape == ResultLayout::Shape::lists;
    const std::vector<ResultRow>& rows = record.results;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool first = i == 0 || (nested && rows[i].list != rows[i - 1].list);
      if (nested && first) out += i == 0 ? "[" : "],[";
      if (!first) out += ',';
      append_row_object(out, layout.columns, rows[i].cells, schema_.digits);
    }
    out += nested && !rows.empty() ? "]]" : "]";
  }

  // The words that maps are about, the maps as they are looked at, and the answers.
  void append_questions(const Record& record, std::string& out) const {
    const AttentionQuestions& questions = schema_.questions;
    const AttentionMaps maps = attention_maps(record, schema_);
    const AttentionMaps asked = asked_maps(maps, questions);
    if (questions.words) {
      out += ",\"words\":";
      append_list(out, asked.labels, [&](const MapLabel& label) { append_json_piece(out, label.text); });
    }
    if (questions.changes_maps() || schema_.parts.attentions) {
      const AttentionMaps shown = shown_maps(maps, questions);
      if (shown.tokens() < asked.tokens()) {
        out += ",\"positions\":";
        append_list(out, shown.labels, [&](const MapLabel& label) { append_number(out, label.position); });
      }
      if (questions.rollout) {
        out += ",\"rollout\":";
        append_nested_array(out, shown.weights, std::array{shown.tokens(), shown.tokens()}, schema_.digits);
      } else if (schema_.parts.attentions) {
        out += ",\"attentions\":";
        append_nested_array(out, shown.weights,
                            std::array{shown.layer_count, shown.head_count, shown.tokens(), shown.tokens()},
                            schema_.digits);
      }
    }
    const auto number = [&](std::size_t value) { append_number(out, value); };
    if (schema_.name_layers_and_heads) {
      out += ",\"layers\":";
      append_list(out, schema_.layers, number);
      out += ",\"heads\":";
      append_list(out, schema_.heads, number);
    }
    if (questions.asks()) (out += ',') += answer_members(answers(asked, questions), schema_.digits);
  }

  RecordSchema schema_;
};

class JsonArrayFormatter : public JsonFormatter {
 public:
  using JsonFormatter::JsonFormatter;
  void begin(OutputStream& out) override { out.write("["); }
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
