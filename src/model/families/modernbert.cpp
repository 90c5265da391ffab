#include <nlohmann/json.hpp>

#include "model/families/family.hpp"

namespace mha {
namespace {

using nlohmann::json;

/// `layer_types` (newer dialect), or every n-th layer global, counted from layer 0 (published checkpoints).
std::vector<bool> local_layers(ConfigReader& read, std::size_t n_layers) {
  std::vector<bool> local;
  if (const json* types = read.find("layer_types")) {
    if (!types->is_array() || types->size() != n_layers) {
      read.fail("layer_types", "a list of num_hidden_layers " + std::to_string(n_layers) + " names",
                types->dump().substr(0, 60));
    }
    for (const json& type : *types) {
      if (type != "full_attention" && type != "sliding_attention") {
        read.fail("layer_types", "full_attention or sliding_attention", type.dump().substr(0, 60));
      }
      local.push_back(type == "sliding_attention");
    }
    read.harmless({"global_attn_every_n_layers"});
    read.note("local_layers", "listed", read.file() + ": layer_types");
    return local;
  }
  const std::size_t period = read.size_or("global_every_n_layers", {"global_attn_every_n_layers"}, 3);
  for (std::size_t i = 0; i < n_layers; ++i) local.push_back(i % period != 0);
  return local;
}

// Warner et al. 2024; transformers 5.24, models/modernbert.
ModelConfig config(ConfigReader& read) {
  ModelConfig c;
  c.d_model = read.size("d_model", {"hidden_size"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads"});
  read.check_heads(c.d_model, "hidden_size", c.n_heads, "num_attention_heads");
  c.d_head = c.d_model / c.n_heads;
  c.d_ff = read.size("d_ff", {"intermediate_size"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.norm = NormConfig{NormKind::layer_norm, NormOrder::pre, read.epsilon_or("layer_norm_eps", {"norm_eps"}, 1e-5)};
  c.norm_bias = read.flag_or("norm_bias", {"norm_bias"}, false);
  c.embedding_norm = true;
  c.first_attention_norm = false;
  c.final_norm = true;
  c.attention_bias = c.attention_output_bias = read.flag_or("attention_bias", {"attention_bias"}, false);
  c.feed_forward = ModelConfig::FeedForward::gated;
  c.feed_forward_bias = c.feed_forward_output_bias = read.flag_or("feed_forward_bias", {"mlp_bias"}, false);
  c.activation = read.activation_or("activation", {"hidden_activation"}, "gelu");
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});

  if (c.n_layers <= 4096) c.local_layers = local_layers(read, c.n_layers);
  // The reference sets local_attention to twice a sliding_window that the file has.
  c.local_window = read.size_or("local_attention", {"local_attention"}, 128, 2) / 2;
  if (const auto half = read.optional_size("local_window", {"sliding_window"})) c.local_window = *half;
  c.position.rotary = PositionConfig::Rotary::halves;
  const json* rotary = read.find("rope_parameters");
  const auto of_type = [&](const char* type) {
    return rotary != nullptr && rotary->is_object() && rotary->contains(type) && !(*rotary)[type].is_null()
               ? &(*rotary)[type]
               : nullptr;
  };
  if (rotary != nullptr && rotary->is_object()) {
    for (const auto& item : rotary->items()) {
      if (item.key() == "full_attention" || item.key() == "sliding_attention") continue;
      read.fail("rope_parameters", "full_attention and sliding_attention, one rotation for each kind of layer",
                "the key " + item.key());
    }
  }
  double divisor = 1.0;
  double local_divisor = 1.0;
  const double global_base = read.positive_or("rotary_base", {"global_rope_theta"}, 160000.0);
  const double local_base = read.positive_or("rotary_base_local", {"local_rope_theta"}, 10000.0);
  read_rotary(read, of_type("full_attention"), global_base, c.position.rotary_base, divisor);
  read_rotary(read, of_type("sliding_attention"), local_base, c.position.rotary_base_local, local_divisor);
  if (divisor != local_divisor) read.fail("rope_parameters", "one scaling for both kinds of layers", "two");
  c.position.rotary_divisor = divisor;
  read.only_number("head_dim", static_cast<double>(c.d_head));  // the reference makes its angles with it
  read.only_null("rope_scaling");
  read.harmless({"layer_norm_eps", "position_embedding_type", "deterministic_flash_attn", "embedding_dropout",
                 "mlp_dropout", "initializer_cutoff_factor", "sparse_pred_ignore_index", "sparse_prediction",
                 "reference_compile", "repad_logits_with_grad"});
  return c;
}

void adapt(ConfigReader& read, const ModelConfig& config, WeightNames&, HeadTable& heads) {
  const std::string pooling = read.text_or("classifier_pooling", {"classifier_pooling"}, "cls");
  if (pooling != "cls" && pooling != "mean") read.fail("classifier_pooling", "cls or mean", "\"" + pooling + "\"");
  heads.classify.pooling = pooling == "cls" ? HeadPooling::first : HeadPooling::mean;
  heads.fill_mask.has_out_bias = read.flag_or("decoder_bias", {"decoder_bias"}, true);
  const bool dense_bias = read.flag_or("classifier_bias", {"classifier_bias"}, false);
  const Activation activation = read.activation_or("classifier_activation", {"classifier_activation"}, "gelu");
  for (HeadNames* head : {&heads.fill_mask, &heads.classify, &heads.tag, &heads.answer}) {
    head->dense_bias = dense_bias;
    head->norm_bias = config.norm_bias;
    head->activation = activation;
  }
}

}  // namespace

const Family kModernBert{
    .model_types = {"modernbert"},
    .config = config,
    .names = {.prefixes = {"model.", ""},
              .layer = "layers.{}.",
              .packed_qkv = "attn.Wqkv",
              .packed_gate_in = "mlp.Wi",
              .places = {{Place::word, "embeddings.tok_embeddings"},
                         {Place::embedding_norm, "embeddings.norm"},
                         {Place::attention_output, "attn.Wo"},
                         {Place::attention_norm, "attn_norm"},
                         {Place::feed_forward_out, "mlp.Wo"},
                         {Place::feed_forward_norm, "mlp_norm"},
                         {Place::final_norm, "final_norm"}}},
    .heads = {.fill_mask = {.dense = "head.dense", .norm = "head.norm", .out = "decoder", .tied = true},
              .classify = {.dense = "head.dense", .norm = "head.norm", .out = "classifier"},
              .tag = {.dense = "head.dense", .norm = "head.norm", .out = "classifier"},
              .answer = {.dense = "head.dense", .norm = "head.norm", .out = "classifier"}},
    .adapt = adapt,
};

}  // namespace mha
