#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Liu et al. 2019; transformers 5.24, models/roberta.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
  if (!c.pad_token_id) {
    c.pad_token_id = 1;
    read.note("pad_token_id", "1", "assumed: no pad_token_id in " + read.file());
  }
  read_padded_positions(read, c, *c.pad_token_id, read.file() + ": pad_token_id + 1");
  read.only_text("position_embedding_type", "absolute");
  return c;
}

}  // namespace

const Family kRoberta{
    .model_types = {"roberta", "xlm-roberta", "camembert"},
    .config = config,
    .names = bert_names({"roberta.", "", "model.", "camembert."}),
    .heads = bert_heads(roberta_fill_mask(), roberta_classify()),
};

}  // namespace mha
