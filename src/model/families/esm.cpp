#include "model/families/family.hpp"

namespace mha {
namespace {

// Lin et al. 2023 (ESM-2); transformers 5.24, models/esm: mask tokens are zeroed and the others rescaled, also at
// inference.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = Activation::gelu;
  read.note("activation", "gelu", "fixed in the reference's code");
  c.norm->order = NormOrder::pre;
  c.final_norm = true;
  c.embedding_norm = read.flag_or("embedding_norm", {"emb_layer_norm_before"}, false);
  if (read.flag_or("token_dropout", {"token_dropout"}, false)) {
    c.embedding_scale = 1.0F - 0.15F * 0.8F;
    c.zeroed_token_id = read.token_id("mask_token_id", {"mask_token_id"}).value_or(-1);
  }
  const std::string position = read.text_or("position", {"position_embedding_type"}, "absolute");
  if (position == "rotary") {
    c.position.rotary = PositionConfig::Rotary::halves;
    c.position.rotary_base = read.positive_or("rotary_base", {"rope_theta"}, 10000.0);
    c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  } else if (position == "absolute") {
    if (!c.pad_token_id) read.fail("pad_token_id", "a token id", "none");
    c.position.learned = true;
    c.position.learned_offset = static_cast<std::size_t>(*c.pad_token_id) + 1;
    c.position.learned_padding_id = c.pad_token_id;
    c.position.learned_padding_row = static_cast<std::size_t>(*c.pad_token_id);
    c.max_positions = read.size("max_positions", {"max_position_embeddings"}, c.position.learned_offset + 1) -
                      c.position.learned_offset;
  } else {
    read.fail("position_embedding_type", "rotary or absolute", "\"" + position + "\"");
  }
  read.only_flag("is_folding_model", false);
  read.harmless({"esmfold_config", "vocab_list"});
  return c;
}

}  // namespace

const Family kEsm{
    .model_types = {"esm"},
    .config = config,
    .names = {.prefixes = {"esm.", "", "model."},
              .word = "embeddings.word_embeddings",
              .position = "embeddings.position_embeddings",
              .embedding_norm = "embeddings.layer_norm",
              .layer = "encoder.layer.{}.",
              .query = "attention.self.query",
              .key = "attention.self.key",
              .value = "attention.self.value",
              .attention_output = "attention.output.dense",
              .attention_norm = "attention.LayerNorm",
              .feed_forward_in = "intermediate.dense",
              .feed_forward_out = "output.dense",
              .feed_forward_norm = "LayerNorm",
              .final_norm = "encoder.emb_layer_norm_after",
              .pooler = "pooler.dense"},
    .heads = {.fill_mask = {.dense = "lm_head.dense",
                            .activation = Activation::gelu,
                            .norm = "lm_head.layer_norm",
                            .out = "lm_head.decoder",
                            .out_bias = "lm_head",
                            .tied = true},
              .classify = {.pooling = HeadPooling::first,
                           .dense = "classifier.dense",
                           .activation = Activation::tanh,
                           .out = "classifier.out_proj"},
              .tag = {.out = "classifier"},
              .answer = {}},
};

}  // namespace mha
