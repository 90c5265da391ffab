#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/ops/weights.hpp"

namespace mha {

/// Weights that share their input seen as one matrix [out, in], rows joined in order; rows are converted when asked
/// for.
class JoinedWeights {
 public:
  /// Throws Error{model} that names the tensor where widths differ, shapes do not fit or a type is not a float or I8.
  /// `input_range` as in Backend::pack.
  explicit JoinedWeights(std::span<const LinearWeights* const> parts, std::span<const float> input_range = {});

  std::size_t in() const { return in_; }
  std::size_t out() const { return out_; }
  /// Whether every row is codes of one step in its file.
  bool are_codes() const;
  /// Row `row` as float32 into out[0, in).
  void row(std::size_t row, float* out) const;
  /// What columns of the weights are multiplied by, and input columns divided by, so that both lose alike when they are
  /// rounded to eight bits: √(range of the input / range of the weights), 1 on average. [in]; empty where the range is
  /// not known or the weights are I8 already.
  std::vector<float> input_shares() const;
  /// Row `row`, its columns times `shares` (empty: as they are), as codes of one step, which is returned: as the file
  /// has it where it is I8, else quantised.
  float codes(std::size_t row, std::span<const float> shares, std::int8_t* out) const;
  /// The whole matrix, in place, when it is one float32 array; else nullptr.
  const float* in_place() const;
  /// Joined bias [out]; zero where absent.
  std::vector<float> bias() const;

 private:
  const Weight& part_of(std::size_t row, std::size_t& inner) const;

  std::vector<const LinearWeights*> parts_;
  std::vector<std::size_t> first_row_;
  std::span<const float> input_range_;
  std::size_t in_ = 0;
  std::size_t out_ = 0;
};

}  // namespace mha
