#include <cmath>

#include "core/json_writer.hpp"
#include "output/explanation.hpp"

namespace mha {
namespace {

// A pair that the layer's window leaves out has no score: null.
void write_matrix(JsonWriter& json, std::string_view name, const float* values, std::size_t rows, std::size_t columns) {
  json.key(name).begin_array();
  for (std::size_t row = 0; row < rows; ++row) {
    json.begin_array();
    for (std::size_t column = 0; column < columns; ++column) {
      const float value = values[row * columns + column];
      std::isfinite(value) ? json.number(value) : json.null();
    }
    json.end_array();
  }
  json.end_array();
}

std::string_view key_of(std::string_view stage) {
  if (stage == "word_embedding") return "embedding";
  if (stage == "position_encoding") return "position";
  return stage;
}

}  // namespace

std::string explanation_json(const Explanation& explanation, const ExplanationOptions& options) {
  const ModelConfig& config = explanation.config;
  std::string out;
  JsonWriter json(out, options.digits < 0 ? std::nullopt : std::optional<int>(options.digits));
  json.begin_object().member("text", explanation.text);
  if (explanation.text_pair) json.member("text_pair", *explanation.text_pair);
  json.key("tokens").list(explanation.labels, [&](const MapLabel& label) { json.text(label.piece); });
  json.key("input_ids").list(explanation.input_ids, [&](std::int32_t id) { json.number(id); });
  json.member("layer", explanation.layer).member("d_model", config.d_model);
  json.member("n_heads", config.n_heads).member("d_head", config.d_head);

  bool heads_written = false;
  for (const Stage& stage : explanation.stages) {
    if (stage.heads == 0) {
      write_matrix(json, key_of(stage.name), stage.values.data(), stage.rows, stage.cols);
      continue;
    }
    if (heads_written) continue;
    heads_written = true;
    json.key("heads").list(explanation.heads, [&](std::size_t head) {
      json.begin_object().member("head", head).key("columns").begin_array();
      json.number(head * config.d_head).number((head + 1) * config.d_head).end_array();
      for (const Stage& step : explanation.stages) {
        if (step.heads == 0) continue;
        write_matrix(json, step.name, explanation.of_head(step, head), step.rows, step.cols);
      }
      json.end_object();
    });
  }
  json.end_object();
  return out + "\n";
}

}  // namespace mha
