#include "model/families/bert_like.hpp"

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
    read_padded_positions(read, c, *c.pad_token_id, read.file() + ": pad_token_id + 1");
  } else {
    read.fail("position_embedding_type", "rotary or absolute", "\"" + position + "\"");
  }
  read.only_number("head_dim", static_cast<double>(c.d_head));  // the reference makes its angles with it
  read.only_flag("is_folding_model", false);
  read.harmless({"esmfold_config", "vocab_list"});
  return c;
}

}  // namespace

const Family kEsm{
    .model_types = {"esm"},
    .config = config,
    .names = amended(bert_names({"esm.", "", "model."}),
                     [](WeightNames& names) {
                       names.drop({Place::token_type});
                       names[Place::embedding_norm] = "embeddings.layer_norm";
                       names[Place::attention_norm] = "attention.LayerNorm";
                       names[Place::feed_forward_norm] = "LayerNorm";
                       names[Place::final_norm] = "encoder.emb_layer_norm_after";
                     }),
    .heads = {.fill_mask = amended(roberta_fill_mask(), [](HeadNames& head) { head.out_bias = "lm_head"; }),
              .classify = roberta_classify(),
              .tag = {.out = "classifier"}},
};

}  // namespace mha
