#include <cmath>

#include "model/families/family.hpp"

namespace mha {
namespace {

// torch.nn.TransformerEncoder behind an nn.Embedding, with the position encoding of Vaswani et al. 2017, §3.5: how
// anyone can export the small encoder of a course or a paper.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  c.d_model = read.size("d_model", {"d_model"});
  c.n_layers = read.size("n_layers", {"num_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"nhead"});
  read.check_heads(c.d_model, "d_model", c.n_heads, "nhead");
  c.d_head = c.d_model / c.n_heads;
  c.d_ff = read.size("d_ff", {"dim_feedforward"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_positions"});
  c.activation = read.activation_or("activation", {"activation"}, "relu");
  const bool pre = read.flag_or("norm_first", {"norm_first"}, false);
  c.norm = NormConfig{NormKind::layer_norm, pre ? NormOrder::pre : NormOrder::post,
                      read.epsilon_or("layer_norm_eps", {"layer_norm_eps"}, 1e-5)};
  c.final_norm = read.flag_or("final_norm", {"final_norm"}, false);
  const bool bias = read.flag_or("bias", {"bias"}, true);
  c.norm_bias = c.attention_bias = c.attention_output_bias = c.feed_forward_bias = c.feed_forward_output_bias = bias;

  const std::string position = read.text_or("position", {"position"}, "sinusoidal");
  if (position == "sinusoidal")
    c.position.sinusoidal = PositionConfig::Sinusoidal::interleaved;
  else if (position == "sinusoidal_halves")
    c.position.sinusoidal = PositionConfig::Sinusoidal::halves;
  else if (position != "none")
    read.fail("position", "sinusoidal, sinusoidal_halves or none", "\"" + position + "\"");
  const bool scaled = read.flag_or("scale_embedding", {"scale_embedding"}, false);
  c.embedding_scale = scaled ? static_cast<float>(std::sqrt(static_cast<double>(c.d_model))) : 1.0F;
  if (const auto width = read.optional_size("embedding_size", {"embedding_size"}); width && *width != c.d_model) {
    c.embedding_size = *width;
    c.embedding_projection = ModelConfig::Projection::after_lookup;
    c.embedding_projection_bias = false;
  }
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  return c;
}

}  // namespace

const Family kTransformerEncoder{
    .model_types = {"transformer_encoder"},
    .config = config,
    .names = {.prefixes = {"", "model."},
              .layer = "encoder.layers.{}.",
              .packed_qkv = "self_attn.in_proj_*",
              .places = {{Place::word, "embedding"},
                         {Place::embedding_projection, "embedding_projection"},
                         {Place::attention_output, "self_attn.out_proj"},
                         {Place::attention_norm, "norm1"},
                         {Place::feed_forward_in, "linear1"},
                         {Place::feed_forward_out, "linear2"},
                         {Place::feed_forward_norm, "norm2"},
                         {Place::final_norm, "encoder.norm"}}},
    .heads = {},
};

}  // namespace mha
