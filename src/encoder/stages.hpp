#pragma once

#include <string>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/encoder/encoder.hpp"

namespace mha {

/// Copies named steps of one layer out (see Captured::stages).
class StageRecorder {
 public:
  explicit StageRecorder(std::vector<Stage>& stages) : stages_(stages) {}

  /// [rows][cols]
  void matrix(std::string name, ConstMatrix x);
  /// Column blocks of x [rows, heads · cols] as [heads][rows][cols].
  void heads(std::string name, ConstMatrix x, std::size_t n_heads);
  /// [heads][rows][cols], to be filled by the caller.
  Stage& block(std::string name, std::size_t n_heads, std::size_t rows, std::size_t cols);

 private:
  std::vector<Stage>& stages_;
};

}  // namespace mha
