#include <algorithm>

#include "model/families/family.hpp"

namespace mha {
namespace {

constexpr std::size_t kPadding = 1;   // fixed in the reference's code, whatever pad_token_id says
constexpr std::size_t kBuckets = 32;  // so are these: a larger table is never looked at behind this row

// Song et al. 2020; transformers 5.24, models/mpnet.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  c.position.learned = true;
  c.position.learned_offset = kPadding + 1;
  c.position.learned_padding_id = static_cast<std::int32_t>(kPadding);
  c.position.learned_padding_row = kPadding;
  c.max_positions = read.size("max_positions", {"max_position_embeddings"}, kPadding + 2) - c.position.learned_offset;
  c.position.relative_bias = true;
  c.position.relative_buckets = kBuckets;
  c.position.relative_max_distance = 128;
  c.position.relative_table_rows =
      read.size_or("relative_table_rows", {"relative_attention_num_buckets"}, kBuckets, kBuckets);
  read.note("relative_buckets", "32", "fixed in the reference's code");
  read.note("position_offset", "2", "fixed in the reference's code");
  return c;
}

}  // namespace

const Family kMpnet{
    .model_types = {"mpnet"},
    .config = config,
    .names = {.prefixes = {"mpnet.", "", "model."},
              .word = "embeddings.word_embeddings",
              .position = "embeddings.position_embeddings",
              .embedding_norm = "embeddings.LayerNorm",
              .layer = "encoder.layer.{}.",
              .query = "attention.attn.q",
              .key = "attention.attn.k",
              .value = "attention.attn.v",
              .attention_output = "attention.attn.o",
              .attention_norm = "attention.LayerNorm",
              .feed_forward_in = "intermediate.dense",
              .feed_forward_out = "output.dense",
              .feed_forward_norm = "output.LayerNorm",
              .relative_bias = "encoder.relative_attention_bias",
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
