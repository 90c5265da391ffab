#include "model/families/bert_like.hpp"

namespace mha {
namespace {

// Su et al. 2021; transformers 5.24, models/roformer: neighbouring columns are rotated; no position table is added.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  read_embedding_size(read, c, c.d_model);
  read_bert_sizes(read, c);
  c.position.rotary = PositionConfig::Rotary::pairs;
  c.position.rotary_value = read.flag_or("rotary_value", {"rotary_value"}, false);
  return c;
}

}  // namespace

const Family kRoformer{
    .model_types = {"roformer"},
    .config = config,
    .names = amended(bert_names({"roformer.", "", "model."}),
                     [](WeightNames& names) {
                       names.drop({Place::position});
                       names[Place::embedding_projection] = "embeddings_project";
                       names.drop({Place::pooler});
                     }),
    .heads = bert_heads(bert_fill_mask(), roberta_classify(std::nullopt)),
};

}  // namespace mha
