#pragma once

#include <cstddef>
#include <string>

#include "mha/model/model.hpp"
#include "mha/model/weights.hpp"

namespace mha {

/// How much an encoder and its dense modules hold, as the files have it.
struct WeightCount {
  std::size_t parameters = 0;
  std::size_t bytes = 0;
  std::string dtype;  ///< "F32", or "F32+I8" where there are several
};

WeightCount count_weights(const Weights& weights, const SentenceConfig& sentence);

}  // namespace mha
