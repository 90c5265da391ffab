#include <nlohmann/json.hpp>

#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Zhang et al. 2024 (mGTE); transformers 5.24, models/gte; "new" is the model_type of the published checkpoints.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  c.d_head = read.size_or("d_head", {"head_dim"}, c.d_head);
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 1, 0);
  c.feed_forward = ModelConfig::FeedForward::gated;
  c.feed_forward_bias = false;
  c.position.rotary = PositionConfig::Rotary::halves;
  const double base = read.positive_or("rotary_base", {"rope_theta"}, 160000.0);
  read_rotary(read, read.find("rope_parameters"), base, c.position.rotary_base, c.position.rotary_divisor);
  read.only_null("rope_scaling");
  read.only_text("position_embedding_type", "rope");
  read.only_text("layer_norm_type", "layer_norm");
  read.only_flag("logn_attention_scale", false);
  read.only_flag("logn_attention_clip1", false);
  read.harmless({"pack_qkv", "unpad_inputs", "use_memory_efficient_attention"});
  return c;
}

}  // namespace

const Family kGte{
    .model_types = {"gte", "new"},
    .config = config,
    .names = amended(bert_names({"new.", "", "gte.", "model."}),
                     [](WeightNames& names) {
                       names.drop({Place::position, Place::query, Place::key, Place::value, Place::feed_forward_in});
                       names.packed_qkv = "attention.qkv_proj";
                       names[Place::attention_output] = "attention.o_proj";
                       names[Place::attention_norm] = "attn_ln";
                       names[Place::feed_forward_out] = "mlp.down_proj";
                       names[Place::feed_forward_norm] = "mlp_ln";
                       names.packed_in_gate = "mlp.up_gate_proj";
                     }),
    .heads = {.fill_mask = {.dense = "lm_head.dense",
                            .activation = Activation::gelu,
                            .norm = "lm_head.norm|lm_head.layer_norm",
                            .out = "lm_head.decoder",
                            .tied = true},
              .classify = bert_classify(),
              .tag = {.out = "classifier"}},
};

}  // namespace mha
