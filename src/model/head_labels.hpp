#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "mha/model/model.hpp"

namespace mha {

/// What config.json says of the outputs of a classifying head.
struct HeadLabels {
  std::vector<std::string> names;  ///< one per output: `id2label`, else `LABEL_<i>`
  /// The output whose label begins with "entail" in any case: by `label2id`, which the reference asks (transformers,
  /// ZeroShotClassificationPipeline), else by `names`.
  std::optional<std::size_t> entailment;
  std::string problem_type;        ///< as the file has it; empty: none
  bool cross_encoder_raw = false;  ///< sentence-transformers: the score of a pair is the logit itself, else its sigmoid
};

/// Reads them for a head of `outputs` outputs. Throws Error{model} where labels do not fit the head, or the file names
/// a problem type or an activation that is unknown.
HeadLabels read_head_labels(const ModelHeader& header, std::size_t outputs);

}  // namespace mha
