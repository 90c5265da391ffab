#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mha/core/tensor.hpp"

namespace mha {

/// The results of an encoder for one input that can be compared with those of another.
struct ComparedSide {
  std::vector<float> embedding;
  std::size_t tokens = 0;
  std::size_t d_model = 0;
  std::vector<float> hidden_states;  ///< [layers + 1][tokens][d_model]
  std::size_t layers = 0;            ///< n_layers
  std::size_t heads = 0;             ///< n_heads
  std::vector<float> attentions;     ///< [layers][heads][tokens][tokens]
};

struct VectorDifference {
  double cosine = 1;  ///< of the flattened arrays; 1 if both are zero, 0 if one is
  double max_abs = 0;
};

struct HeadDifference {
  std::size_t layer = 0;
  std::size_t head = 0;
  double distance = 0;  ///< Jensen-Shannon, mean over queries, in [0, 1]
};

/// The differences of two sides. Parts whose shapes differ are left out.
struct Comparison {
  std::optional<VectorDifference> embedding;
  std::vector<VectorDifference> layers;  ///< hidden_states[i] of both
  std::vector<HeadDifference> heads;
};

Comparison compare(const ComparedSide& a, const ComparedSide& b);

/// The first value, in the order of the computation (hidden_states 0, heads of layer 0, hidden_states 1, …, embedding),
/// that is greater than the tolerance: 1 − cosine, max_abs or the distance. Empty if all are within. If no part has the
/// same shape on both sides, nothing is within, and the text says so.
std::string first_over(const Comparison& comparison, double tolerance);

VectorDifference vector_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace mha
