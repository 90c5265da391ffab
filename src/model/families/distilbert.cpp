#include "model/families/family.hpp"

namespace mha {
namespace {

// Sanh et al. 2019; transformers 5.24, models/distilbert: no token types, epsilon 1e-12 fixed in the code.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  // The common names are set last in the reference (attribute_map), so they win.
  c.d_model = read.size("d_model", {"hidden_size", "dim"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers", "n_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads", "n_heads"});
  read.check_heads(c.d_model, "dim", c.n_heads, "n_heads");
  c.d_head = c.d_model / c.n_heads;
  c.d_ff = read.size("d_ff", {"hidden_dim"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.activation = read.activation_or("activation", {"activation"}, "gelu");
  c.norm = NormConfig{NormKind::layer_norm, NormOrder::post, 1e-12};
  read.note("layer_norm_eps", "1e-12", "fixed in the reference's code");
  c.embedding_norm = true;
  c.position.learned = true;
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.harmless({"sinusoidal_pos_embds", "tie_weights_", "qa_dropout", "seq_classif_dropout"});
  return c;
}

}  // namespace

const Family kDistilbert{
    .model_types = {"distilbert"},
    .config = config,
    .names = {.prefixes = {"distilbert.", "", "model."},
              .layer = "transformer.layer.{}.",
              .places = {{Place::word, "embeddings.word_embeddings"},
                         {Place::position, "embeddings.position_embeddings"},
                         {Place::embedding_norm, "embeddings.LayerNorm"},
                         {Place::query, "attention.q_lin"},
                         {Place::key, "attention.k_lin"},
                         {Place::value, "attention.v_lin"},
                         {Place::attention_output, "attention.out_lin"},
                         {Place::attention_norm, "sa_layer_norm"},
                         {Place::feed_forward_in, "ffn.lin1"},
                         {Place::feed_forward_out, "ffn.lin2"},
                         {Place::feed_forward_norm, "output_layer_norm"}}},
    .heads =
        {.fill_mask = {.dense = "vocab_transform", .norm = "vocab_layer_norm", .out = "vocab_projector", .tied = true},
         .classify = {.pooling = HeadPooling::first,
                      .dense = "pre_classifier",
                      .activation = Activation::relu,
                      .out = "classifier"},
         .tag = {.out = "classifier"},
         .answer = {.out = "qa_outputs"}},
};

}  // namespace mha
