#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Devlin et al. 2018; transformers 5.24, models/bert.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  read_bert_positions(read, c);
  return c;
}

}  // namespace

const Family kBert{
    .model_types = {"bert"},
    .config = config,
    .names = bert_names({"bert.", "", "model."}),
    .heads = bert_heads(bert_fill_mask(), bert_classify()),
};

}  // namespace mha
