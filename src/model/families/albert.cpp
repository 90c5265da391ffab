#include <nlohmann/json.hpp>

#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Lan et al. 2019; transformers 5.24, models/albert: num_hidden_groups groups of inner_group_num layers each; layer i
// runs group int(i / (layers / groups)). The embedding is always projected, also where both widths are equal.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu_new");
  c.embedding_size = read.size_or("embedding_size", {"embedding_size"}, 128);
  read_bert_positions(read, c);
  const std::size_t groups = read.size_or("layer_groups", {"num_hidden_groups"}, 1);
  const std::size_t inner = read.size_or("layers_in_group", {"inner_group_num"}, 1);
  if (groups > c.n_layers)
    read.fail("num_hidden_groups", "at most num_hidden_layers " + std::to_string(c.n_layers), std::to_string(groups));
  if (inner > 64) read.fail("inner_group_num", "at most 64", std::to_string(inner));
  const std::size_t repeats = c.n_layers;
  c.n_layers = repeats * inner;
  c.shared_layers = groups * inner;
  for (std::size_t i = 0; i < repeats && repeats <= 4096; ++i) {
    const auto group =
        static_cast<std::size_t>(static_cast<double>(i) / (static_cast<double>(repeats) / static_cast<double>(groups)));
    for (std::size_t j = 0; j < inner; ++j) c.layer_weights.push_back(group * inner + j);
  }
  read.harmless({"net_structure_type", "num_memory_blocks", "down_scale_factor", "gap_size"});
  return c;
}

void adapt(ConfigReader& read, const ModelConfig&, WeightNames& names, HeadTable&) {
  if (const auto* inner = read.find("inner_group_num")) names.layers_in_group = inner->get<std::size_t>();
}

}  // namespace

const Family kAlbert{
    .model_types = {"albert"},
    .config = config,
    .names = amended(bert_names({"albert.", "", "model."}),
                     [](WeightNames& names) {
                       names[Place::embedding_projection] = "encoder.embedding_hidden_mapping_in";
                       names.layer = "encoder.albert_layer_groups.{}.albert_layers.{}.";
                       names[Place::query] = "attention.query";
                       names[Place::key] = "attention.key";
                       names[Place::value] = "attention.value";
                       names[Place::attention_output] = "attention.dense";
                       names[Place::attention_norm] = "attention.LayerNorm";
                       names[Place::feed_forward_in] = "ffn";
                       names[Place::feed_forward_out] = "ffn_output";
                       names[Place::feed_forward_norm] = "full_layer_layer_norm";
                       names[Place::pooler] = "pooler";
                     }),
    .heads = bert_heads({.dense = "predictions.dense",
                         .norm = "predictions.LayerNorm",
                         .out = "predictions.decoder",
                         .out_bias = "predictions.decoder|predictions",
                         .tied = true},
                        amended(bert_classify(), [](HeadNames& head) { head.dense = "pooler"; })),
    .adapt = adapt,
};

}  // namespace mha
