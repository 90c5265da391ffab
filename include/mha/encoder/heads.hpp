#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/encoder/config.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/ops/backend.hpp"
#include "mha/ops/weights.hpp"

namespace mha {

/// The purpose of a head on top of an encoder.
///   fill_mask  scores of the vocabulary at single tokens
///   classify   scores of labels for the whole input (classification, regression, re-ranking)
///   tag        scores of labels for every token
///   answer     start and end scores for every token
enum class Task { fill_mask, classify, tag, answer };
std::string_view name_of(Task task);

/// Which vectors a head reads: those of single tokens, the first token's, the mean of all; or the mean is taken of the
/// logits (EuroBERT "late").
enum class HeadPooling { tokens, first, mean, mean_of_logits };

/// A head as data: logits = norm(activation(x · denseᵀ + b)) · outᵀ + b. Absent parts are left out.
/// This is the shape of every family's heads (BERT's pooler is the dense layer of its classifier).
struct HeadWeights {
  Task task = Task::classify;
  HeadPooling pooling = HeadPooling::tokens;
  LinearWeights dense;  ///< [d_dense, d_model]
  Activation activation = Activation::none;
  NormWeights norm;  ///< [d_dense], a LayerNorm
  double eps = 1e-5;
  LinearWeights out;                  ///< [outputs, d_dense]; tied to the word table if the family says so
  std::shared_ptr<const void> owner;  ///< keeps the views valid
};

/// A head that is ready to run. Immutable; `logits` is re-entrant.
class Head {
 public:
  Head(HeadWeights weights, const Backend& backend, Precision precision);
  ~Head();
  Head(Head&&) noexcept;

  Task task() const;
  HeadPooling pooling() const;
  /// Labels, vocabulary entries, or 2 (start, end).
  std::size_t outputs() const;

  /// Logits [inputs, outputs] of a head that reads whole inputs; `hidden` [N, d_model] is what `Encoder::forward` gave.
  /// Throws Error{internal} for a head that reads single tokens.
  void logits(const Batch& batch, ConstMatrix hidden, Matrix out, Workspace& workspace) const;
  /// Logits [rows, outputs] at the batch rows `rows`, of a head that reads single tokens.
  void logits_at(std::span<const std::size_t> rows, ConstMatrix hidden, Matrix out, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
