#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/families/family.hpp"

// Names that the descendants of BERT share: tables that a family takes and amends. All are functions, because families
// are made before `main` in an unspecified order.
namespace mha {

/// A table with some rows changed.
template <class Table, class Amend>
Table amended(Table table, Amend amend) {
  amend(table);
  return table;
}

/// BERT's arrays, pooler included.
WeightNames bert_names(std::vector<std::string_view> prefixes);

/// A token classifier and an answer head of one matrix each, beside the two that families spell differently.
HeadTable bert_heads(HeadNames fill_mask, HeadNames classify);
/// `cls.predictions`, with the encoder's activation.
HeadNames bert_fill_mask();
/// `lm_head` of RoBERTa's descendants, with GELU.
HeadNames roberta_fill_mask();
/// The first token through `pooler.dense` and tanh, then `classifier`.
HeadNames bert_classify();
/// The first token through `classifier.dense`, then `classifier.out_proj`; empty: the encoder's own activation.
HeadNames roberta_classify(std::optional<Activation> activation = Activation::tanh);

/// `max_position_embeddings` and `type_vocab_size`, with the default of 2 types.
void read_bert_sizes(ConfigReader& read, ModelConfig& config);
/// The same with a learned table of positions from 0, the only kind.
void read_bert_positions(ConfigReader& read, ModelConfig& config);
/// Reads `embedding_size`, which may differ from the width of the layers.
void read_embedding_size(ConfigReader& read, ModelConfig& config, std::size_t by_default);
/// A learned table whose rows count from the padding token's id + 1. Padding takes the row of its id and does not count
/// (create_position_ids_from_input_ids of the reference). `from` is the source of the offset, for decisions.
void read_padded_positions(ConfigReader& read, ModelConfig& config, std::int32_t padding, const std::string& from);

}  // namespace mha
