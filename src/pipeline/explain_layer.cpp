#include "pipeline/explain_layer.hpp"

#include <utility>
#include <vector>

#include "ops/convert.hpp"
#include "output/record_maps.hpp"

namespace mha {

Explanation explain_layer(const Model& model, const ModelWork& work, const RecordSchema& schema, std::size_t layer,
                          const Record& record, Executor* threads) {
  const Encoder& encoder = model.encoder();
  const ModelConfig& config = encoder.config();
  Workspace workspace(threads);
  Captured captured;
  Wanted wanted;
  wanted.stages_of_layer = layer;
  wanted.ablated = work.wanted.ablated;
  const std::vector<std::size_t> rows{0, record.tokens()};
  encoder.forward({record.encoding.input_ids, record.encoding.token_type_ids, rows}, workspace, wanted, &captured);

  Explanation explanation;
  explanation.text = record.input.text;
  explanation.text_pair = record.input.text_pair;
  explanation.model = model.location().name;
  explanation.labels = attention_maps(record, schema).labels;
  explanation.input_ids = record.encoding.input_ids;
  explanation.layer = layer;
  explanation.config = config;
  const Weight& bias = encoder.weights().layers[config.weights_of_layer(layer)].attention.output.bias;
  if (bias.present()) {
    explanation.output_bias.resize(config.d_model);
    to_float32(bias.view, 0, config.d_model, explanation.output_bias.data());
  }
  explanation.heads = schema.heads;
  if (record.truncated) explanation.full_length = record.encoding.full_length;
  if (const auto& marks = work.wanted.ablated; !marks.empty()) {
    const auto first = marks.begin() + static_cast<std::ptrdiff_t>(layer * config.n_heads);
    explanation.ablated.assign(first, first + static_cast<std::ptrdiff_t>(config.n_heads));
  }
  explanation.stages = std::move(captured.stages);
  return explanation;
}

}  // namespace mha
