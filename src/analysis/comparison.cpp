#include "analysis/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "mha/analysis/head_statistics.hpp"
#include "ops/vector.hpp"

namespace mha {
namespace {

VectorDifference difference(const float* a, const float* b, std::size_t size) {
  VectorDifference result;
  for (std::size_t i = 0; i < size; ++i) {
    result.max_abs = std::max(result.max_abs, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  if (result.max_abs > 0) result.cosine = cosine({a, size}, {b, size});
  return result;
}

std::string over(const std::string& where, const VectorDifference& d, double tolerance) {
  if (1 - d.cosine > tolerance) return where + ": 1 - cosine is " + std::to_string(1 - d.cosine);
  if (d.max_abs > tolerance) return where + ": max_abs is " + std::to_string(d.max_abs);
  return {};
}

}  // namespace

VectorDifference vector_difference(const std::vector<float>& a, const std::vector<float>& b) {
  return difference(a.data(), b.data(), std::min(a.size(), b.size()));
}

Comparison compare(const ComparedSide& a, const ComparedSide& b) {
  Comparison result;
  if (!a.embedding.empty() && a.embedding.size() == b.embedding.size()) {
    result.embedding = vector_difference(a.embedding, b.embedding);
  }
  if (a.tokens != b.tokens) return result;
  const std::size_t layers = std::min(a.layers, b.layers);
  if (a.d_model == b.d_model && !a.hidden_states.empty() && !b.hidden_states.empty()) {
    const std::size_t size = a.tokens * a.d_model;
    for (std::size_t layer = 0; layer <= layers; ++layer) {
      result.layers.push_back(
          difference(a.hidden_states.data() + layer * size, b.hidden_states.data() + layer * size, size));
    }
  }
  if (a.heads == b.heads && !a.attentions.empty() && !b.attentions.empty()) {
    const std::size_t size = a.tokens * a.tokens;
    for (std::size_t i = 0; i < layers * a.heads; ++i) {
      result.heads.push_back(
          {i / a.heads, i % a.heads,
           jensen_shannon_distance(a.attentions.data() + i * size, b.attentions.data() + i * size, a.tokens)});
    }
  }
  return result;
}

std::string first_over(const Comparison& comparison, double tolerance) {
  const std::size_t heads_a_layer = comparison.heads.empty() ? 0 : 1 + comparison.heads.back().head;
  const std::size_t head_layers = heads_a_layer == 0 ? 0 : comparison.heads.size() / heads_a_layer;
  for (std::size_t layer = 0; layer < std::max(comparison.layers.size(), head_layers); ++layer) {
    if (layer < comparison.layers.size()) {
      const std::string found = over("hidden_states " + std::to_string(layer), comparison.layers[layer], tolerance);
      if (!found.empty()) return found;
    }
    for (std::size_t head = 0; layer < head_layers && head < heads_a_layer; ++head) {
      const HeadDifference& d = comparison.heads[layer * heads_a_layer + head];
      if (d.distance > tolerance) {
        return "attention of head " + std::to_string(layer) + "." + std::to_string(head) + ": distance is " +
               std::to_string(d.distance);
      }
    }
  }
  if (comparison.embedding) return over("embedding", *comparison.embedding, tolerance);
  const bool compared = !comparison.layers.empty() || !comparison.heads.empty();
  return compared ? std::string() : "embedding, hidden states and attention: of different shapes, nothing to compare";
}

}  // namespace mha
