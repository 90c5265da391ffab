#include <cmath>

#include "model/families/family.hpp"

namespace mha {
namespace {

// Junczys-Dowmunt et al. 2018, its encoder; transformers 5.24, models/marian: sinusoidal table in halves, epsilon 1e-5
// fixed in the code.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  // The common names are set last in the reference (attribute_map), so they win.
  c.d_model = read.size("d_model", {"hidden_size", "d_model"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers", "encoder_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads", "encoder_attention_heads"});
  read.check_heads(c.d_model, "d_model", c.n_heads, "encoder_attention_heads");
  c.d_head = c.d_model / c.n_heads;
  c.d_ff = read.size("d_ff", {"encoder_ffn_dim"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.activation = read.activation_or("activation", {"activation_function"}, "gelu");
  c.norm = NormConfig{NormKind::layer_norm, NormOrder::post, 1e-5};
  read.note("layer_norm_eps", "1e-5", "fixed in the reference's code");
  c.position.sinusoidal = PositionConfig::Sinusoidal::halves;
  const bool scaled = read.flag_or("scale_embedding", {"scale_embedding"}, false);
  c.embedding_scale = scaled ? static_cast<float>(std::sqrt(static_cast<double>(c.d_model))) : 1.0F;
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.only_flag("static_position_embeddings", true);
  read.only_flag("normalize_before", false);
  read.only_flag("normalize_embedding", false);
  read.only_flag("add_final_layer_norm", false);
  read.harmless({"activation_dropout", "add_bias_logits", "bad_words_ids", "classif_dropout", "decoder_attention_heads",
                 "decoder_ffn_dim", "decoder_layerdrop", "decoder_layers", "decoder_start_token_id",
                 "decoder_vocab_size", "encoder_layerdrop", "extra_pos_embeddings", "force_bos_token_to_be_generated",
                 "forced_eos_token_id", "init_std", "is_decoder", "max_length", "num_beams",
                 "share_encoder_decoder_embeddings"});
  return c;
}

}  // namespace

const Family kMarian{
    .model_types = {"marian"},
    .config = config,
    .names = {.prefixes = {"model.", ""},
              .layer = "encoder.layers.{}.",
              .places = {{Place::word, "shared|encoder.embed_tokens"},
                         {Place::query, "self_attn.q_proj"},
                         {Place::key, "self_attn.k_proj"},
                         {Place::value, "self_attn.v_proj"},
                         {Place::attention_output, "self_attn.out_proj"},
                         {Place::attention_norm, "self_attn_layer_norm"},
                         {Place::feed_forward_in, "fc1"},
                         {Place::feed_forward_out, "fc2"},
                         {Place::feed_forward_norm, "final_layer_norm"}}},
    .heads = {},
};

}  // namespace mha
