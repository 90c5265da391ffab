#pragma once

#include <map>
#include <span>
#include <string>

#include "mha/encoder/pooling.hpp"

namespace mha {

/// How a text becomes a sentence vector: pooling, and the texts that go before an input.
struct SentenceConfig : PoolingConfig {
  std::map<std::string, std::string> prompts;  ///< by name
  std::string default_prompt_name;             ///< empty: none
  std::string similarity = "cosine";           ///< "cosine", "dot", "euclidean", "manhattan"
};

/// How alike two sentence vectors of one width are, by the model's own function: cosine, dot product, or minus the
/// Euclidean or Manhattan distance (sentence_transformers.util). Summed in double.
double similarity(const SentenceConfig& sentence, std::span<const float> x, std::span<const float> y);

}  // namespace mha
