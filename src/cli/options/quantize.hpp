#pragma once

#include <string>

#include "cli/options/group.hpp"
#include "model/quantize.hpp"

namespace mha::cli {

/// Sentence vectors of whole numbers in place of float32.
struct QuantizeOptions {
  VectorType type = VectorType::f32;
  std::string ranges;     ///< a JSON file
  std::string calibrate;  ///< a file of texts
};

extern const OptionGroup kQuantize;

}  // namespace mha::cli
