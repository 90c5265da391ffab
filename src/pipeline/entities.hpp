#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "pipeline/tasks.hpp"

namespace mha {

/// A token and its label.
struct ScoredToken {
  std::size_t index = 0;  ///< in the encoding
  std::string word;
  std::size_t begin = 0;  ///< bytes of the text
  std::size_t end = 0;
  bool continues = false;  ///< it is inside a word
  std::vector<float> scores;
};

struct Entity {
  std::string label;  ///< the label, or its group without `B-` and `I-`
  float score = 0;
  std::size_t index = 0;  ///< of the token; only without aggregation
  std::string word;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Tokens to entities, without those labelled "O". `join` makes one text of vocabulary entries or words.
/// transformers 5.24, pipelines/token_classification.py: aggregate, group_entities.
std::vector<Entity> entities_of(const std::vector<ScoredToken>& tokens, Aggregation aggregation,
                                const std::vector<std::string>& labels,
                                const std::function<std::string(std::vector<std::string>)>& join);

}  // namespace mha
