#include <cmath>
#include <nlohmann/json.hpp>

#include "core/numbers.hpp"
#include "output/explanation.hpp"

namespace mha {
namespace {

class Writer {
 public:
  explicit Writer(int digits) : digits_(digits) {}

  void key(std::string_view name) {
    out += out.back() == '{' ? "\"" : ",\"";
    out += name;
    out += "\":";
  }
  void member(std::string_view name, const nlohmann::json& value) {
    key(name);
    out += value.dump();
  }
  void matrix(std::string_view name, const float* values, std::size_t rows, std::size_t columns) {
    key(name);
    out += '[';
    for (std::size_t row = 0; row < rows; ++row) {
      out += row > 0 ? ",[" : "[";
      for (std::size_t column = 0; column < columns; ++column) {
        if (column > 0) out += ',';
        const float value = values[row * columns + column];
        if (!std::isfinite(value)) {
          out += "null";  // a pair that the layer's window leaves out has no score
        } else if (digits_ < 0) {
          append_float(out, value);
        } else {
          append_float(out, value, digits_);
        }
      }
      out += ']';
    }
    out += ']';
  }

  std::string out = "{";

 private:
  int digits_;
};

std::string_view key_of(std::string_view stage) {
  if (stage == "word_embedding") return "embedding";
  if (stage == "position_encoding") return "position";
  return stage;
}

}  // namespace

std::string explanation_json(const Explanation& explanation, const ExplanationOptions& options) {
  Writer writer(options.digits);
  writer.member("text", explanation.text);
  if (explanation.text_pair) writer.member("text_pair", *explanation.text_pair);
  nlohmann::json tokens = nlohmann::json::array();
  for (const MapLabel& label : explanation.labels) tokens.push_back(label.piece);
  writer.member("tokens", tokens);
  writer.member("input_ids", explanation.input_ids);
  writer.member("layer", explanation.layer);
  writer.member("d_model", explanation.config.d_model);
  writer.member("n_heads", explanation.config.n_heads);
  writer.member("d_head", explanation.config.d_head);

  bool heads_written = false;
  for (const Stage& stage : explanation.stages) {
    if (stage.heads == 0) {
      writer.matrix(key_of(stage.name), stage.values.data(), stage.rows, stage.cols);
      continue;
    }
    if (heads_written) continue;
    heads_written = true;
    writer.key("heads");
    writer.out += '[';
    for (const std::size_t head : explanation.heads) {
      writer.out += writer.out.back() == '[' ? "{" : ",{";
      writer.member("head", head);
      writer.member("columns", {head * explanation.config.d_head, (head + 1) * explanation.config.d_head});
      for (const Stage& step : explanation.stages) {
        if (step.heads == 0) continue;
        writer.matrix(step.name, explanation.of_head(step, head), step.rows, step.cols);
      }
      writer.out += '}';
    }
    writer.out += ']';
  }
  return writer.out + "}\n";
}

}  // namespace mha
