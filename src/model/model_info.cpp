#include <nlohmann/json.hpp>

#include "mha/model/model_tools.hpp"
#include "model/opened_model.hpp"
#include "model/weight_count.hpp"

namespace mha {

ModelInfo model_info(const ModelLocation& location, const LoadOptions& options) {
  const auto opened = open_model(location, options);
  ModelInfo info;
  const auto tokenizer = open_tokenizer(*opened, options);
  const auto source = open_weights(*opened);
  const Weights weights = bind_weights(opened->family, *source, info.unused_tensors);

  info.name = location.name;
  info.path = location.kind == ModelLocation::Kind::builtin ? "built-in" : location.path;
  info.family = opened->family.config.family;
  info.config_json = config_to_json(opened->family.config).dump();
  info.sentence = opened->sentence.config;
  bind_dense_modules(*opened, *source, info.sentence, info.unused_tensors);
  const WeightCount count = count_weights(weights, info.sentence);
  info.parameters = count.parameters;
  info.bytes = count.bytes;
  info.dtype = count.dtype;
  info.max_length = opened->max_length;
  info.embedding_width = info.sentence.dense.empty() ? opened->family.config.d_model * info.sentence.pooling.size()
                                                     : info.sentence.dense.back().out;
  info.tokenizer = tokenizer->summary();
  for (const Task task : tasks_of(opened->family, *source)) info.tasks.emplace_back(name_of(task));
  info.decisions = opened->decisions;
  info.files = opened->files->opened();
  info.ignored_keys = opened->family.ignored_keys;
  info.notes = opened->notes;
  return info;
}

}  // namespace mha
