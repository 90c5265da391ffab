#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/families/family.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// The word table of a static embedding as the array `embedding.weight` [vocabulary, width]: as sentence-transformers
/// writes it (StaticEmbedding), or as model2vec does (`embeddings`, and perhaps `mapping` from tokens to its rows and
/// `weights`, one factor per token). Errors: model.
std::shared_ptr<const WeightSource> static_embedding_source(std::shared_ptr<const WeightSource> file);

/// An encoder without layers: word vectors are what it gives. The sizes come from the table.
FamilyModel static_embedding_family(const WeightSource& source);

/// Whether a config.json is model2vec's.
bool is_model2vec(const nlohmann::json& config);

/// What model2vec's config.json says.
struct Model2VecSettings {
  bool normalize = false;
  std::optional<std::size_t> max_length;  ///< tokens of a text; model2vec assumes 512
  std::vector<std::string> unknown_keys;
};
/// Errors: model.
Model2VecSettings read_model2vec(const nlohmann::json& config, const std::string& origin);

}  // namespace mha
