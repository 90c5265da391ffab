#pragma once

#include <cstddef>

#include "output/records.hpp"
#include "pipeline/model_worker.hpp"
#include "pipeline/pipeline.hpp"

namespace mha {

/// How a long text is split into windows, one embedding each.
struct WindowSettings {
  /// Most tokens of a window, special tokens and prompt included. Late: of the text alone; 0: one window per sentence.
  std::size_t tokens = 0;
  /// Tokens of the text that neighbouring windows share. Late: tokens that a pass repeats of the pass before it.
  std::size_t overlap = 0;
  /// Windows are sentences, joined while they fit, each pooled from one pass over the whole text, or over as much of it
  /// as the model can read (Günther et al. 2024, "Late Chunking").
  bool late = false;
  /// True: one vector per input, the mean of its windows, weighted by their tokens of the text, then cut and normalised
  /// like any vector. False: one record per window.
  bool joined = false;
  std::size_t most_tokens = 0;      ///< of one pass, special tokens and prompt included; 0: no limit
  std::size_t batch_tokens = 1024;  ///< of one forward pass, or one window
  OffsetUnit offsets = OffsetUnit::code_points;
};

/// Makes workers that fill `Record::windows`, or with `joined` the embedding. Windows are cut between the tokens of the
/// whole text, so no token changes; each window has the special tokens and the prompt. `work` must outlive the workers.
/// A pair of texts is a bad record.
WorkerFactory window_workers(const ModelWork& work, const WindowSettings& settings);

}  // namespace mha
