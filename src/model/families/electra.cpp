#include "model/families/family.hpp"

namespace mha {
namespace {

// Clark et al. 2020; transformers 5.24, models/electra: BERT with an embedding of its own width.
ModelConfig config(ConfigReader& read) {
  ModelConfig c = read_bert_block(read);
  c.activation = read.activation_or("activation", {"hidden_act"}, "gelu");
  const std::size_t width = read.size_or("embedding_size", {"embedding_size"}, 128);
  if (width != c.d_model) c.embedding_size = width;
  c.max_positions = read.size("max_positions", {"max_position_embeddings"});
  c.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
  c.position.learned = true;
  read.only_text("position_embedding_type", "absolute");
  read.harmless({"summary_activation", "summary_last_dropout", "summary_type", "summary_use_proj"});
  return c;
}

}  // namespace

const Family kElectra{
    .model_types = {"electra"},
    .config = config,
    .names = {.prefixes = {"electra.", "", "model."},
              .word = "embeddings.word_embeddings",
              .position = "embeddings.position_embeddings",
              .token_type = "embeddings.token_type_embeddings",
              .embedding_norm = "embeddings.LayerNorm",
              .embedding_projection = "embeddings_project",
              .layer = "encoder.layer.{}.",
              .query = "attention.self.query",
              .key = "attention.self.key",
              .value = "attention.self.value",
              .attention_output = "attention.output.dense",
              .attention_norm = "attention.output.LayerNorm",
              .feed_forward_in = "intermediate.dense",
              .feed_forward_out = "output.dense",
              .feed_forward_norm = "output.LayerNorm"},
    .heads = {.fill_mask = {.dense = "generator_predictions.dense",
                            .activation = Activation::gelu,
                            .norm = "generator_predictions.LayerNorm",
                            .out = "generator_lm_head",
                            .tied = true},
              .classify = {.pooling = HeadPooling::first,
                           .dense = "classifier.dense",
                           .activation = Activation::gelu,
                           .out = "classifier.out_proj"},
              .tag = {.out = "classifier"},
              .answer = {.out = "qa_outputs"}},
};

}  // namespace mha
