#include "model/families/family.hpp"

namespace mha {
namespace {

// Devlin et al. 2018; transformers 5.24, models/bert.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
  c.position.learned = true;
  read.only_text("position_embedding_type", "absolute");
  return c;
}

}  // namespace

const Family kBert{
    .model_types = {"bert"},
    .config = config,
    .names = {.prefixes = {"bert.", "", "model."},
              .word = "embeddings.word_embeddings",
              .position = "embeddings.position_embeddings",
              .token_type = "embeddings.token_type_embeddings",
              .embedding_norm = "embeddings.LayerNorm",
              .layer = "encoder.layer.{}.",
              .query = "attention.self.query",
              .key = "attention.self.key",
              .value = "attention.self.value",
              .attention_output = "attention.output.dense",
              .attention_norm = "attention.output.LayerNorm",
              .feed_forward_in = "intermediate.dense",
              .feed_forward_out = "output.dense",
              .feed_forward_norm = "output.LayerNorm",
              .pooler = "pooler.dense"},
    .heads = {.fill_mask = {.dense = "cls.predictions.transform.dense",
                            .norm = "cls.predictions.transform.LayerNorm",
                            .out = "cls.predictions.decoder",
                            .out_bias = "cls.predictions.decoder|cls.predictions",
                            .tied = true},
              .classify = {.pooling = HeadPooling::first,
                           .dense = "pooler.dense",
                           .activation = Activation::tanh,
                           .out = "classifier"},
              .tag = {.out = "classifier"},
              .answer = {.out = "qa_outputs"}},
};

}  // namespace mha
