#pragma once

#include <cstddef>
#include <vector>

#include "mha/encoder/encoder.hpp"
#include "pipeline/model_worker.hpp"

namespace mha {

/// Tokens that `include_prompt: false` leaves out of pooling.
std::size_t excluded_prompt_tokens(const ModelWork& work);

/// Pools the token vectors of a batch. One object per thread.
class SentenceVectors {
 public:
  explicit SentenceVectors(const ModelWork& work);

  /// Call after each batch: computes the pooler outputs if pooling reads them.
  void begin(const Batch& batch, ConstMatrix hidden, Workspace& workspace);
  /// The vector of some rows of an input without the first `skipped`. Throws Error{input} if it is not finite.
  void pool_rows(std::size_t input, ConstMatrix rows, std::size_t skipped, std::size_t dims, Workspace& workspace,
                 std::vector<float>& out);

 private:
  const ModelWork& work_;
  bool needs_pooler_;
  std::size_t d_model_ = 0;
  std::vector<float> pooled_;
};

}  // namespace mha
