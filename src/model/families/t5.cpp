#include "model/families/family.hpp"

namespace mha {
namespace {

// Raffel et al. 2019, its encoder; transformers 5.24, models/t5, mt5, umt5: scores are not scaled, the relative bias of
// layer 0 serves every layer (UMT5: each has its own).
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  // The common names are set last in the reference (attribute_map), so they win.
  c.d_model = read.size("d_model", {"hidden_size", "d_model"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers", "num_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads", "num_heads"});
  c.d_head = read.size("d_head", {"head_dim", "d_kv"});
  c.d_ff = read.size("d_ff", {"d_ff"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.norm =
      NormConfig{NormKind::rms_norm, NormOrder::pre, read.epsilon_or("layer_norm_eps", {"layer_norm_epsilon"}, 1e-6)};
  c.final_norm = true;
  c.norm_bias = c.attention_bias = c.attention_output_bias = c.feed_forward_bias = c.feed_forward_output_bias = false;
  c.scale_scores = false;
  c.position.relative_bias = true;
  c.position.relative_buckets = read.size_or("relative_buckets", {"relative_attention_num_buckets"}, 32, 4);
  c.position.relative_max_distance = read.size_or("relative_max_distance", {"relative_attention_max_distance"}, 128, 2);
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.only_flag("is_decoder", false);
  read.harmless({"num_decoder_layers", "decoder_start_token_id", "n_positions", "scale_decoder_outputs"});
  return c;
}

void adapt_switches(ConfigReader& read, ModelConfig& c, std::string_view default_feed_forward) {
  const std::string projection = read.text_or("feed_forward", {"feed_forward_proj"}, default_feed_forward);
  const bool named_gated = projection.starts_with("gated-");
  const std::string name = projection == "gated-gelu" ? "gelu_new" : named_gated ? projection.substr(6) : projection;
  if (!activation_named(name))
    read.fail("feed_forward_proj", "ACTIVATION or gated-ACTIVATION", "\"" + projection + "\"");
  // Both follow from feed_forward_proj; the reference lets keys of their own win (T5Config.__post_init__).
  c.activation = read.activation_or("activation", {"dense_act_fn"}, name);
  const bool gated = read.flag_or("gated", {"is_gated_act"}, named_gated);
  c.feed_forward = gated ? ModelConfig::FeedForward::gated : ModelConfig::FeedForward::two_layer;
}

ModelConfig config_t5(ConfigReader& read) {
  ModelConfig c = config(read);
  adapt_switches(read, c, "relu");
  return c;
}

ModelConfig config_mt5(ConfigReader& read) {
  ModelConfig c = config(read);
  adapt_switches(read, c, "gated-gelu");
  return c;
}

ModelConfig config_umt5(ConfigReader& read) {
  ModelConfig c = config_mt5(read);
  c.position.relative_bias_per_layer = true;
  return c;
}

void adapt(ConfigReader&, const ModelConfig& c, WeightNames& names, HeadTable&) {
  names[Place::feed_forward_in] = c.gated() ? "layer.1.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi";
}

const WeightNames kNames{
    .prefixes = {"", "transformer.", "model."},
    .layer = "encoder.block.{}.",
    .places = {{Place::word, "shared|encoder.embed_tokens"},
               {Place::query, "layer.0.SelfAttention.q"},
               {Place::key, "layer.0.SelfAttention.k"},
               {Place::value, "layer.0.SelfAttention.v"},
               {Place::attention_output, "layer.0.SelfAttention.o"},
               {Place::attention_norm, "layer.0.layer_norm"},
               {Place::feed_forward_gate, "layer.1.DenseReluDense.wi_0"},
               {Place::feed_forward_out, "layer.1.DenseReluDense.wo"},
               {Place::feed_forward_norm, "layer.1.layer_norm"},
               {Place::layer_relative_bias, "layer.0.SelfAttention.relative_attention_bias"},
               {Place::final_norm, "encoder.final_layer_norm"},
               {Place::relative_bias, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias"}}};
const HeadTable kHeads{.fill_mask = {}, .classify = {}, .tag = {.out = "classifier"}, .answer = {}};

}  // namespace

const Family kT5{.model_types = {"t5"}, .config = config_t5, .names = kNames, .heads = kHeads, .adapt = adapt};
const Family kMt5{.model_types = {"mt5"}, .config = config_mt5, .names = kNames, .heads = kHeads, .adapt = adapt};
const Family kUmt5{.model_types = {"umt5"}, .config = config_umt5, .names = kNames, .heads = kHeads, .adapt = adapt};

}  // namespace mha
