#include <nlohmann/json.hpp>

#include "mha/core/error.hpp"
#include "model/families/bind_head.hpp"
#include "model/families/bind_weights.hpp"
#include "model/model_tools.hpp"
#include "model/opened_model.hpp"
#include "model/weight_count.hpp"

namespace mha {
namespace {

// Of one number of a matrix: products of split numbers keep each part as bfloat16.
std::size_t packed_bytes(Precision precision) {
  switch (precision) {
    case Precision::f32:
    case Precision::bf16x3:
      return 4;
    case Precision::bf16:
      return 2;
    case Precision::bf16x6:
      return 6;
    case Precision::w8a16:
    case Precision::int8:
      return 1;
  }
  throw_internal("info: a precision that has no size");
}

}  // namespace

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
  for (const Task task : tasks_of(opened->family, *source))
    bind_head(opened->family, task, weights, *source, info.unused_tensors);
  const WeightCount count = count_weights(weights, info.sentence);
  info.parameters = count.parameters;
  info.bytes = count.bytes;
  info.dtype = count.dtype;
  const std::size_t number_bytes = packed_bytes(load_precision(options));
  for (const WeightCount::Part& part : count.parts) {
    info.parts.push_back({part.name, part.parameters, part.bytes});
    info.memory += part.name == "embeddings" ? part.bytes : part.parameters * number_bytes;
  }
  info.max_length = opened->max_length;
  info.embedding_width = info.sentence.width(opened->family.config.d_model);
  info.tokenizer = tokenizer->summary();
  for (const Task task : tasks_of(opened->family, *source)) info.tasks.emplace_back(name_of(task));
  info.decisions = opened->decisions;
  info.files = opened->files->opened();
  info.ignored_keys = opened->family.ignored_keys;
  info.ignored_keys.insert(info.ignored_keys.end(), opened->sentence.unknown_keys.begin(),
                           opened->sentence.unknown_keys.end());
  const ModelKind kind = opened->sentence.config.kind;
  info.decisions.push_back(
      {"kind", std::string(name_of(kind)),
       kind == ModelKind::plain ? "assumed: no files of sentence-transformers" : "the model's files"});
  info.notes = opened->notes;
  info.notes.insert(info.notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
  return info;
}

}  // namespace mha
