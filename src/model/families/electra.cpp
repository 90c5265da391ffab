#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Clark et al. 2020; transformers 5.24, models/electra: BERT with an embedding of its own width.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  read_embedding_size(read, c, 128);
  read_bert_positions(read, c);
  read.harmless({"summary_activation", "summary_last_dropout", "summary_type", "summary_use_proj"});
  return c;
}

}  // namespace

const Family kElectra{
    .model_types = {"electra"},
    .config = config,
    .names = amended(bert_names({"electra.", "", "model."}),
                     [](WeightNames& names) {
                       names[Place::embedding_projection] = "embeddings_project";
                       names.drop({Place::pooler});
                     }),
    .heads = bert_heads({.dense = "generator_predictions.dense",
                         .activation = Activation::gelu,
                         .norm = "generator_predictions.LayerNorm",
                         .out = "generator_lm_head",
                         .tied = true},
                        roberta_classify(Activation::gelu)),
};

}  // namespace mha
