#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mha/encoder/weights.hpp"
#include "mha/model/model.hpp"

namespace mha {

/// How much an encoder and its dense modules hold, as the files have it.
struct WeightCount {
  /// Numbers and file bytes of one part: "embeddings", "layers", "pooler", "dense", …, in the order of the forward
  /// pass.
  struct Part {
    std::string name;
    std::size_t parameters = 0;
    std::size_t bytes = 0;
  };
  std::vector<Part> parts;
  std::size_t parameters = 0;
  std::size_t bytes = 0;
  std::string dtype;  ///< "F32", or "F32+I8" if there are several
};

WeightCount count_weights(const Weights& weights, const SentenceConfig& sentence);

}  // namespace mha
