#include "model/families/family.hpp"

namespace mha {
namespace {

// Liu et al. 2019; transformers 5.24, models/roberta: positions count from the padding index + 1, and tokens that are
// padding take its row and are not counted (create_position_ids_from_input_ids).
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
  if (!c.pad_token_id) c.pad_token_id = 1;
  c.position.learned = true;
  c.position.learned_offset = static_cast<std::size_t>(*c.pad_token_id) + 1;
  c.position.learned_padding_id = c.pad_token_id;
  c.position.learned_padding_row = static_cast<std::size_t>(*c.pad_token_id);
  c.max_positions = read.size("max_positions", {"max_position_embeddings"}, c.position.learned_offset + 1) -
                    c.position.learned_offset;
  read.note("position_offset", std::to_string(c.position.learned_offset), "padding index + 1");
  read.only_text("position_embedding_type", "absolute");
  return c;
}

}  // namespace

const Family kRoberta{
    .model_types = {"roberta", "xlm-roberta", "camembert"},
    .config = config,
    .names = {.prefixes = {"roberta.", "", "model.", "camembert."},
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
    .heads = {.fill_mask = {.dense = "lm_head.dense",
                            .activation = Activation::gelu,
                            .norm = "lm_head.layer_norm",
                            .out = "lm_head.decoder",
                            .out_bias = "lm_head.decoder|lm_head",
                            .tied = true},
              .classify = {.pooling = HeadPooling::first,
                           .dense = "classifier.dense",
                           .activation = Activation::tanh,
                           .out = "classifier.out_proj"},
              .tag = {.out = "classifier"},
              .answer = {.out = "qa_outputs"}},
};

}  // namespace mha
