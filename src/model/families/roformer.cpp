#include "model/families/family.hpp"

namespace mha {
namespace {

// Su et al. 2021; transformers 5.24, models/roformer: neighbouring columns are rotated; no position table is added.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  const std::size_t width = read.size_or("embedding_size", {"embedding_size"}, c.d_model);
  if (width != c.d_model) c.embedding_size = width;
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
  c.position.rotary = PositionConfig::Rotary::pairs;
  c.position.rotary_value = read.flag_or("rotary_value", {"rotary_value"}, false);
  return c;
}

}  // namespace

const Family kRoformer{
    .model_types = {"roformer"},
    .config = config,
    .names = {.prefixes = {"roformer.", "", "model."},
              .word = "embeddings.word_embeddings",
              .token_type = "embeddings.token_type_embeddings",
              .embedding_norm = "embeddings.LayerNorm",
              .embedding_projection = "embeddings_project",
              .layer = "encoder.layer.{}.",
              .query = "attention.self.query",
              .key = "attention.self.key",
              .value = "attention.self.value",
              .attention_output = "attention.output.dense",
              .attention_norm = "attention.output.LayerNorm",
              .feed_forward_in = "intermediate.dense",
              .feed_forward_out = "output.dense",
              .feed_forward_norm = "output.LayerNorm"},
    .heads = {.fill_mask = {.dense = "cls.predictions.transform.dense",
                            .norm = "cls.predictions.transform.LayerNorm",
                            .out = "cls.predictions.decoder",
                            .out_bias = "cls.predictions.decoder|cls.predictions",
                            .tied = true},
              .classify = {.pooling = HeadPooling::first, .dense = "classifier.dense", .out = "classifier.out_proj"},
              .tag = {.out = "classifier"},
              .answer = {.out = "qa_outputs"}},
};

}  // namespace mha
