#include "mha/encoder/heads.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "encoder/norm.hpp"
#include "encoder/workspace.hpp"
#include "mha/core/error.hpp"
#include "ops/vector.hpp"

namespace mha {

std::string_view name_of(Task task) {
  switch (task) {
    case Task::fill_mask:
      return "fill-mask";
    case Task::classify:
      return "classify";
    case Task::tag:
      return "tag";
    case Task::answer:
      return "answer";
  }
  throw_internal("task: a value that has no name");
}

struct Head::Impl {
  HeadWeights weights;
  const Backend& backend;
  std::unique_ptr<PackedLinear> dense, out;
  Norm norm;

  Impl(HeadWeights w, const Backend& b, Precision precision) : weights(std::move(w)), backend(b) {
    const LinearWeights* const last[] = {&weights.out};
    out = backend.pack(last, precision);
    if (weights.dense.weight.present()) {
      const LinearWeights* const first[] = {&weights.dense};
      dense = backend.pack(first, precision);
    }
    if (weights.norm.gamma.present()) norm = Norm({NormKind::layer_norm, NormOrder::post, weights.eps}, weights.norm);
  }

  /// logits [rows, outputs] of x [rows, d_model].
  void apply(ConstMatrix x, Matrix logits, Scratch& s) const {
    ConstMatrix h = x;
    if (dense != nullptr) {
      const Matrix y = matrix_in(s.head_dense, x.rows, dense->out);
      backend.linear(*dense, x, y, {weights.activation, {}, norm.row()}, s.executor);  // [rows, d_dense]
      h = y;
    }
    backend.linear(*out, h, logits, {}, s.executor);  // [rows, outputs]
  }
};

Head::Head(HeadWeights weights, const Backend& backend, Precision precision)
    : impl_(std::make_unique<Impl>(std::move(weights), backend, precision)) {}
Head::~Head() = default;
Head::Head(Head&&) noexcept = default;

Task Head::task() const { return impl_->weights.task; }
HeadPooling Head::pooling() const { return impl_->weights.pooling; }
std::size_t Head::outputs() const { return impl_->out->out; }

void Head::logits(const Batch& batch, ConstMatrix hidden, Matrix out, Workspace& workspace) const {
  Scratch& s = *workspace.impl;
  const std::size_t inputs = batch.inputs();
  const auto rows_of = [&](ConstMatrix x, std::size_t i) { return x.rows_of(batch.row_begin[i], batch.length(i)); };
  if (impl_->weights.pooling == HeadPooling::tokens) throw_internal("head: this one reads single tokens");
  if (impl_->weights.pooling == HeadPooling::mean_of_logits) {
    const Matrix each = matrix_in(s.heads, hidden.rows, outputs());
    impl_->apply(hidden, each, s);
    for (std::size_t i = 0; i < inputs; ++i) mean_of_rows(rows_of(each, i), out.row(i));
    return;
  }
  const Matrix pooled = matrix_in(s.heads, inputs, hidden.cols);  // [inputs, d_model]
  for (std::size_t i = 0; i < inputs; ++i) {
    if (impl_->weights.pooling == HeadPooling::first)
      std::copy_n(hidden.row(batch.row_begin[i]), hidden.cols, pooled.row(i));
    else
      mean_of_rows(rows_of(hidden, i), pooled.row(i));
  }
  impl_->apply(pooled, out, s);
}

void Head::logits_at(std::span<const std::size_t> rows, ConstMatrix hidden, Matrix out, Workspace& workspace) const {
  Scratch& s = *workspace.impl;
  if (impl_->weights.pooling != HeadPooling::tokens) throw_internal("head: this one reads whole inputs");
  const Matrix gathered = matrix_in(s.heads, rows.size(), hidden.cols);
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(hidden.row(rows[i]), hidden.cols, gathered.row(i));
  impl_->apply(gathered, out, s);
}

}  // namespace mha
