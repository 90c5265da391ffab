#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Nussbaum et al. 2024; transformers 5.24, models/nomic_bert, and the key names of the published checkpoints.
// `fc11` is the plain branch, `fc12` the one that gets the activation.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  c.d_model = read.size("d_model", {"hidden_size", "n_embd"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers", "n_layer"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads", "n_head"});
  read.check_heads(c.d_model, "hidden_size", c.n_heads, "num_attention_heads");
  c.d_head = read.size_or("d_head", {"head_dim"}, c.d_model / c.n_heads);
  c.d_ff = read.size_or("d_ff", {"intermediate_size", "n_inner"}, 4 * c.d_model);
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_position_embeddings", "n_positions"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2, 0);
  c.norm = NormConfig{NormKind::layer_norm, NormOrder::post,
                      read.epsilon_or("layer_norm_eps", {"layer_norm_eps", "layer_norm_epsilon"}, 1e-12)};
  c.embedding_norm = true;
  c.attention_bias = c.attention_output_bias = read.flag_or("attention_bias", {"qkv_proj_bias"}, false);
  c.feed_forward = ModelConfig::FeedForward::gated;
  c.feed_forward_bias = read.flag_or("feed_forward_bias", {"mlp_fc1_bias"}, false);
  c.feed_forward_output_bias = read.flag_or("feed_forward_output_bias", {"mlp_fc2_bias"}, false);
  if (read.has("activation_function")) {
    const std::string name = read.text_or("activation", {"activation_function"}, "");
    if (name != "swiglu" && name != "geglu") read.fail("activation_function", "swiglu or geglu", "\"" + name + "\"");
    c.activation = name == "swiglu" ? Activation::silu : Activation::gelu;
  } else {
    c.activation = read.activation_or("activation", {"hidden_act"}, "silu");
  }
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});

  PositionConfig& p = c.position;
  p.rotary = read.flag_or("rotary_pairs", {"rotary_emb_interleaved"}, false) ? PositionConfig::Rotary::pairs
                                                                             : PositionConfig::Rotary::halves;
  const double base = read.positive_or("rotary_base", {"rotary_emb_base", "rope_theta"}, 1000.0);
  read_rotary(read, read.find("rope_parameters"), base, p.rotary_base, p.rotary_divisor);
  const double fraction = read.positive_or("rotary_fraction", {"rotary_emb_fraction"}, 1.0);
  if (fraction > 1.0) read.fail("rotary_emb_fraction", "at most 1", std::to_string(fraction));
  if (fraction < 1.0) p.rotary_width = static_cast<std::size_t>(fraction * static_cast<double>(c.d_head));
  if (const auto trained = read.optional_size("max_trained_positions", {"max_trained_positions"});
      trained && read.has("rotary_scaling_factor")) {
    read.find("rotary_scaling_factor");  // changes nothing up to the trained length, and there it ends
    c.max_positions = std::min(c.max_positions, *trained);
  } else {
    read.only_null("rotary_scaling_factor");
  }
  read.only_null("rotary_emb_scale_base");
  read.only_null("rope_scaling");
  read.only_flag("prenorm", false);
  read.only_flag("causal", false);
  read.only_flag("parallel_block", false);
  read.only_flag("use_rms_norm", false);
  read.only_flag("scale_attn_weights", true);
  read.only_flag("scale_attn_by_inverse_layer_idx", false);
  read.harmless({"attn_pdrop", "embd_pdrop", "resid_pdrop", "dense_seq_output", "fused_bias_fc", "fused_dropout_add_ln",
                 "use_flash_attn", "use_xentropy", "pad_vocab_size_multiple", "reorder_and_upcast_attn",
                 "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                 "summary_use_proj"});
  return c;
}

}  // namespace

const Family kNomicBert{
    .model_types = {"nomic_bert"},
    .config = config,
    .names = {.prefixes = {"nomic_bert.", "", "bert.", "model."},
              .layer = "encoder.layers.{}.",
              .packed_qkv = "attn.Wqkv",
              .places = {{Place::word, "embeddings.word_embeddings"},
                         {Place::token_type, "embeddings.token_type_embeddings"},
                         {Place::embedding_norm, "emb_ln"},
                         {Place::attention_output, "attn.out_proj"},
                         {Place::attention_norm, "norm1"},
                         {Place::feed_forward_in, "mlp.fc11"},
                         {Place::feed_forward_gate, "mlp.fc12"},
                         {Place::feed_forward_out, "mlp.fc2"},
                         {Place::feed_forward_norm, "norm2"},
                         {Place::pooler, "pooler.dense"}}},
    .heads = {.fill_mask = amended(bert_fill_mask(),
                                   [](HeadNames& head) { head.norm = "cls.predictions.transform.layer_norm"; }),
              .classify = bert_classify(),
              .tag = {.out = "classifier"}},
};

}  // namespace mha
