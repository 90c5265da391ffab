#include "mha/model/sentence.hpp"

#include <cmath>

#include "ops/vector.hpp"

namespace mha {

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
