#include "model/families/bert_like.hpp"

namespace mha {

WeightNames bert_names(std::vector<std::string_view> prefixes) {
  return {.prefixes = std::move(prefixes),
          .layer = "encoder.layer.{}.",
          .places = {{Place::word, "embeddings.word_embeddings"},
                     {Place::position, "embeddings.position_embeddings"},
                     {Place::token_type, "embeddings.token_type_embeddings"},
                     {Place::embedding_norm, "embeddings.LayerNorm"},
                     {Place::query, "attention.self.query"},
                     {Place::key, "attention.self.key"},
                     {Place::value, "attention.self.value"},
                     {Place::attention_output, "attention.output.dense"},
                     {Place::attention_norm, "attention.output.LayerNorm"},
                     {Place::feed_forward_in, "intermediate.dense"},
                     {Place::feed_forward_out, "output.dense"},
                     {Place::feed_forward_norm, "output.LayerNorm"},
                     {Place::pooler, "pooler.dense"}}};
}

HeadTable bert_heads(HeadNames fill_mask, HeadNames classify) {
  return {.fill_mask = fill_mask, .classify = classify, .tag = {.out = "classifier"}, .answer = {.out = "qa_outputs"}};
}

HeadNames bert_fill_mask() {
  return {.dense = "cls.predictions.transform.dense",
          .norm = "cls.predictions.transform.LayerNorm",
          .out = "cls.predictions.decoder",
          .out_bias = "cls.predictions.decoder|cls.predictions",
          .tied = true};
}

HeadNames roberta_fill_mask() {
  return {.dense = "lm_head.dense",
          .activation = Activation::gelu,
          .norm = "lm_head.layer_norm",
          .out = "lm_head.decoder",
          .out_bias = "lm_head.decoder|lm_head",
          .tied = true};
}

HeadNames bert_classify() {
  return {.pooling = HeadPooling::first, .dense = "pooler.dense", .activation = Activation::tanh, .out = "classifier"};
}

HeadNames roberta_classify(std::optional<Activation> activation) {
  return {.pooling = HeadPooling::first,
          .dense = "classifier.dense",
          .activation = activation,
          .out = "classifier.out_proj"};
}

void read_bert_sizes(ConfigReader& read, ModelConfig& config) {
  config.max_positions = read.size("max_positions", {"max_position_embeddings"});
  config.type_vocab_size = read.size_or("type_vocab_size", {"type_vocab_size"}, 2);
}

void read_bert_positions(ConfigReader& read, ModelConfig& config) {
  read_bert_sizes(read, config);
  config.position.learned = true;
  read.only_text("position_embedding_type", "absolute");
}

void read_embedding_size(ConfigReader& read, ModelConfig& config, std::size_t by_default) {
  const std::size_t width = read.size_or("embedding_size", {"embedding_size"}, by_default);
  if (width != config.d_model) config.embedding_size = width;
}

void read_padded_positions(ConfigReader& read, ModelConfig& config, std::int32_t padding, const std::string& from) {
  PositionConfig& position = config.position;
  position.learned = true;
  position.learned_offset = static_cast<std::size_t>(padding) + 1;
  position.learned_padding_id = padding;
  position.learned_padding_row = static_cast<std::size_t>(padding);
  const std::size_t rows = read.size("position_rows", {"max_position_embeddings"}, position.learned_offset + 1);
  config.max_positions = rows - position.learned_offset;
  read.note("position_offset", std::to_string(position.learned_offset), from);
  read.note("max_positions", std::to_string(config.max_positions),
            read.file() + ": max_position_embeddings less position_offset");
}

}  // namespace mha
