#pragma once

#include <memory>
#include <vector>

#include "encoder/norm.hpp"
#include "encoder/scratch.hpp"
#include "encoder/stages.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/encoder/weights.hpp"
#include "mha/ops/backend.hpp"

namespace mha {

/// The input of the first layer: word vectors, positions and token types, normalised and projected as in the family.
/// Rows are looked up in the file's number type.
class Embeddings {
 public:
  Embeddings(const ModelConfig& config, const EmbeddingWeights& weights, const Backend& backend, Precision precision);

  /// x [N, d_model]. The batch has been checked. `stages` (one input only) may be nullptr.
  void forward(const Batch& batch, Matrix x, Scratch& scratch, StageRecorder* stages) const;

 private:
  void record_summands(const Batch& batch, ConstMatrix e, Scratch& scratch, StageRecorder& stages) const;
  void look_up_words(const Batch& batch, Matrix e) const;
  void rescale_unmasked(const Batch& batch, Matrix e) const;
  void add_positions(const Batch& batch, Matrix e, Scratch& scratch) const;
  void add_token_types(const Batch& batch, Matrix e, Scratch& scratch) const;
  void project(ConstMatrix e, Matrix x, Scratch& scratch) const;

  const ModelConfig& config_;
  const EmbeddingWeights& weights_;
  const Backend& backend_;
  std::unique_ptr<PackedLinear> projection_;
  Norm norm_;
};

}  // namespace mha
