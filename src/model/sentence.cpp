#include "mha/model/sentence.hpp"

#include <cmath>

#include "mha/core/error.hpp"
#include "ops/vector.hpp"

namespace mha {

std::string_view name_of(ModelKind kind) {
  switch (kind) {
    case ModelKind::plain:
      return "plain encoder";
    case ModelKind::embedder:
      return "embedder";
    case ModelKind::cross_encoder:
      return "cross-encoder";
    case ModelKind::sparse_encoder:
      return "sparse encoder";
    case ModelKind::late_interaction:
      return "late interaction";
    case ModelKind::static_embedding:
      return "static embedding";
  }
  throw_internal("model: a kind that has no name");
}

double similarity(const SentenceConfig& sentence, std::span<const float> x, std::span<const float> y) {
  if (sentence.similarity == "cosine") return cosine(x, y);
  double product = 0;
  double squares = 0;
  double distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = double{x[i]} - double{y[i]};
    product += double{x[i]} * double{y[i]};
    squares += difference * difference;
    distance += std::abs(difference);
  }
  if (sentence.similarity == "dot") return product;
  return sentence.similarity == "euclidean" ? -std::sqrt(squares) : -distance;
}

}  // namespace mha
