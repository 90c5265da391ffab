#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha::test {

/// Maps with random rows that sum to 1: `[CLS]`, then `words` (one that starts with "##" continues the word before),
/// then `[SEP]`; offsets as if blanks stood between words.
inline AttentionMaps example_maps(const std::vector<std::string>& words, std::size_t layers, std::size_t heads,
                                  unsigned seed = 1) {
  AttentionMaps maps;
  const auto special = [&](const std::string& piece) {
    MapLabel label;
    label.piece = piece;
    label.special = true;
    maps.labels.push_back(label);
  };
  special("[CLS]");
  std::size_t position = 0;
  std::int32_t word = -1;
  for (const std::string& piece : words) {
    MapLabel label;
    const bool continues = piece.starts_with("##");
    label.piece = piece;
    label.text = continues ? piece.substr(2) : piece;
    if (!continues) {
      ++word;
      if (position > 0) ++position;
    }
    label.word = word;
    label.sequence = 0;
    label.begin = position;
    label.end = position += label.text.size();
    maps.labels.push_back(label);
  }
  special("[SEP]");
  for (std::size_t t = 0; t < maps.tokens(); ++t) maps.labels[t].position = t;
  for (std::size_t layer = 0; layer < layers; ++layer) maps.layers.push_back(layer);
  for (std::size_t head = 0; head < heads; ++head) maps.heads.push_back(head);
  maps.layer_count = layers;
  maps.head_count = heads;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 2.0F);
  for (std::size_t row = 0; row < layers * heads * maps.tokens(); ++row) {
    std::vector<float> weights(maps.tokens());
    float sum = 0;
    for (float& weight : weights) sum += weight = std::exp(normal(random));
    for (const float weight : weights) maps.weights.push_back(weight / sum);
  }
  return maps;
}

}  // namespace mha::test
