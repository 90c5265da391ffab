#include <nlohmann/json.hpp>

#include "model/families/family.hpp"

namespace mha {
namespace {

// Boizard et al. 2025; transformers 5.24, models/eurobert: Llama's block without the causal mask.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  c.d_model = read.size("d_model", {"hidden_size"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers"});
  c.n_heads = read.size("n_heads", {"num_attention_heads"});
  read.check_heads(c.d_model, "hidden_size", c.n_heads, "num_attention_heads");
  c.n_kv_heads = read.size_or("n_kv_heads", {"num_key_value_heads"}, c.n_heads);
  c.d_head = read.size_or("d_head", {"head_dim"}, c.d_model / c.n_heads);
  c.d_ff = read.size("d_ff", {"intermediate_size"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.activation = read.activation_or("activation", {"hidden_act"}, "silu");
  c.norm = NormConfig{NormKind::rms_norm, NormOrder::pre, read.epsilon_or("layer_norm_eps", {"rms_norm_eps"}, 1e-5)};
  c.norm_bias = false;
  c.final_norm = true;
  c.attention_bias = c.attention_output_bias = read.flag_or("attention_bias", {"attention_bias"}, false);
  c.feed_forward = ModelConfig::FeedForward::gated;
  c.feed_forward_bias = c.feed_forward_output_bias = read.flag_or("feed_forward_bias", {"mlp_bias"}, false);
  c.position.rotary = PositionConfig::Rotary::halves;
  const double base = read.positive_or("rotary_base", {"rope_theta"}, 10000.0);
  const nlohmann::json* scaling = read.find("rope_scaling");
  const nlohmann::json* parameters = read.find("rope_parameters");
  read_rotary(read, scaling != nullptr ? scaling : parameters, base, c.position.rotary_base, c.position.rotary_divisor);
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.harmless({"pretraining_tp"});
  return c;
}

void adapt(ConfigReader& read, const ModelConfig& config, WeightNames&, HeadTable& heads) {
  const std::string pooling = read.text_or("classifier_pooling", {"classifier_pooling"}, "late");
  if (pooling == "bos")
    heads.classify.pooling = HeadPooling::first;
  else if (pooling == "mean")
    heads.classify.pooling = HeadPooling::mean;
  else if (pooling == "late")
    heads.classify.pooling = HeadPooling::mean_of_logits;
  else
    read.fail("classifier_pooling", "bos, mean or late", "\"" + pooling + "\"");
  heads.fill_mask.has_out_bias = config.feed_forward_bias;
}

}  // namespace

const Family kEuroBert{
    .model_types = {"eurobert"},
    .config = config,
    .names = {.prefixes = {"model.", ""},
              .layer = "layers.{}.",
              .places = {{Place::word, "embed_tokens"},
                         {Place::query, "self_attn.q_proj"},
                         {Place::key, "self_attn.k_proj"},
                         {Place::value, "self_attn.v_proj"},
                         {Place::attention_output, "self_attn.o_proj"},
                         {Place::attention_norm, "input_layernorm"},
                         {Place::feed_forward_in, "mlp.up_proj"},
                         {Place::feed_forward_gate, "mlp.gate_proj"},
                         {Place::feed_forward_out, "mlp.down_proj"},
                         {Place::feed_forward_norm, "post_attention_layernorm"},
                         {Place::final_norm, "norm"}}},
    .heads = {.fill_mask = {.out = "lm_head", .tied = true},
              .classify = {.dense = "dense", .activation = Activation::gelu, .out = "classifier"},
              .tag = {.out = "classifier"},
              .answer = {}},
    .adapt = adapt,
};

}  // namespace mha
