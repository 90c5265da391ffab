#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mha/encoder/pooling.hpp"
#include "mha/encoder/sparse.hpp"

namespace mha {

/// What a model's folder was made for.
///   plain             an encoder alone: nothing says how its token vectors become one (mean is assumed)
///   embedder          sentence vectors
///   cross_encoder     scores of pairs, by a classifying head
///   sparse_encoder    one weight per vocabulary entry, by a fill-mask head (SPLADE)
///   late_interaction  one vector per token (ColBERT)
///   static_embedding  the mean of word vectors, without layers (model2vec)
enum class ModelKind { plain, embedder, cross_encoder, sparse_encoder, late_interaction, static_embedding };
/// "plain encoder", "cross-encoder", …
std::string_view name_of(ModelKind kind);

/// How a text becomes a vector, and the texts that go before an input.
struct SentenceConfig : PoolingConfig {
  ModelKind kind = ModelKind::plain;
  std::map<std::string, std::string> prompts;  ///< by name
  std::string default_prompt_name;             ///< empty: none
  std::string similarity = "cosine";           ///< "cosine", "dot", "euclidean", "manhattan"
  std::optional<SparsePooling> sparse;         ///< of a sparse encoder
  /// Of a cross-encoder whose folder says so: true if a pair's score is the logit, false if its sigmoid.
  std::optional<bool> raw_scores;
  /// Tokens whose vectors a late-interaction model leaves out of documents (punctuation), as vocabulary entries.
  std::vector<std::string> skipped_tokens;
  bool expands_queries = false;  ///< … and pads queries with mask tokens that get vectors too (not implemented)
};

/// How alike two sentence vectors of one width are, by the model's own function: cosine, dot product, or minus the
/// Euclidean or Manhattan distance (sentence_transformers.util). Summed in double.
double similarity(const SentenceConfig& sentence, std::span<const float> x, std::span<const float> y);

}  // namespace mha
