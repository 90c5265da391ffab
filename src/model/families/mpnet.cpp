#include <algorithm>

#include "model/families/bert_like.hpp"

namespace mha {
namespace {

constexpr std::int32_t kPadding = 1;  // fixed in the reference's code, whatever pad_token_id says
constexpr std::size_t kBuckets = 32;  // so are these: a larger table is never looked at behind this row

// Song et al. 2020; transformers 5.24, models/mpnet.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  read_padded_positions(read, c, kPadding, "fixed in the reference's code");
  c.position.relative_bias = true;
  c.position.relative_buckets = kBuckets;
  c.position.relative_max_distance = 128;
  c.position.relative_table_rows =
      read.size_or("relative_table_rows", {"relative_attention_num_buckets"}, kBuckets, kBuckets);
  read.note("relative_buckets", "32", "fixed in the reference's code");
  return c;
}

}  // namespace

const Family kMpnet{
    .model_types = {"mpnet"},
    .config = config,
    .names = amended(bert_names({"mpnet.", "", "model."}),
                     [](WeightNames& names) {
                       names.drop({Place::token_type});
                       names[Place::query] = "attention.attn.q";
                       names[Place::key] = "attention.attn.k";
                       names[Place::value] = "attention.attn.v";
                       names[Place::attention_output] = "attention.attn.o";
                       names[Place::attention_norm] = "attention.LayerNorm";
                       names[Place::relative_bias] = "encoder.relative_attention_bias";
                     }),
    .heads = bert_heads(roberta_fill_mask(), roberta_classify()),
};

}  // namespace mha
