#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/encoder/heads.hpp"

namespace mha {

/// How a sparse encoder makes one weight per vocabulary entry of a fill-mask head's logits (SPLADE, Formal et al.
/// 2021): log(1 + relu(logit)), then the greatest or the sum over the tokens.
struct SparsePooling {
  bool sum = false;        ///< else the greatest
  bool log_twice = false;  ///< log(1 + log(1 + relu(logit)))
};

struct SparseEntry {
  std::int32_t id = 0;
  float weight = 0.0F;
};

/// The weights above 0 of one input, ascending by id. `row_begin` and `row_end` are its rows in `hidden` [N, d_model].
/// Errors: input if a weight is not finite; internal for a head that does not read single tokens.
void pool_sparse(const SparsePooling& pooling, const Head& head, ConstMatrix hidden, std::size_t row_begin,
                 std::size_t row_end, Workspace& workspace, std::vector<SparseEntry>& out);

}  // namespace mha
