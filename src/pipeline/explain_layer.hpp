#pragma once

#include <cstddef>

#include "mha/core/executor.hpp"
#include "mha/model/model.hpp"
#include "output/explanation.hpp"
#include "output/records.hpp"
#include "pipeline/model_worker.hpp"

namespace mha {

/// Computes one layer of a tokenised input, step by step. `work` says which heads are ablated, `schema` which are
/// shown. `threads` may be null.
Explanation explain_layer(const Model& model, const ModelWork& work, const RecordSchema& schema, std::size_t layer,
                          const Record& record, Executor* threads);

}  // namespace mha
