#include "mha/encoder/pooling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "encoder/workspace.hpp"
#include "mha/core/error.hpp"
#include "ops/vector.hpp"

namespace mha {

namespace {

/// sums[c] = Σ weight(r) · hidden[r][c] over rows from `first`, in row order and in double: the same bits wherever the
/// input stands in a batch.
template <typename Weight>
void weighted_sum(ConstMatrix hidden, std::size_t first, Weight weight, std::vector<double>& sums) {
  sums.assign(hidden.cols, 0.0);
  for (std::size_t r = first; r < hidden.rows; ++r) {
    const float* row = hidden.row(r);
    const double w = weight(r);
    for (std::size_t c = 0; c < hidden.cols; ++c) sums[c] += w * static_cast<double>(row[c]);
  }
}

void append_scaled(const std::vector<double>& sums, double divisor, std::vector<float>& out) {
  for (const double sum : sums) out.push_back(static_cast<float>(sum / divisor));
}

void append_pooled(PoolingMode mode, ConstMatrix hidden, std::size_t first, const float* pooler,
                   std::vector<double>& sums, std::vector<float>& out) {
  const auto count = static_cast<double>(hidden.rows - first);
  const auto append = [&](const float* row) { out.insert(out.end(), row, row + hidden.cols); };
  switch (mode) {
    case PoolingMode::cls:
      return append(hidden.row(first));
    case PoolingMode::last:
      return append(hidden.row(hidden.rows - 1));
    case PoolingMode::mean:
      weighted_sum(
          hidden, first, [](std::size_t) { return 1.0; }, sums);
      return append_scaled(sums, count, out);
    case PoolingMode::mean_sqrt_len:
      weighted_sum(
          hidden, first, [](std::size_t) { return 1.0; }, sums);
      return append_scaled(sums, std::sqrt(count), out);
    case PoolingMode::weighted_mean: {
      // Weight r + 1, counted from the first token of the input even when a prompt is left out (sentence-transformers
      // 6.2, Pooling.forward).
      weighted_sum(
          hidden, first, [](std::size_t r) { return static_cast<double>(r + 1); }, sums);
      const auto rows = static_cast<double>(hidden.rows);
      const auto left_out = static_cast<double>(first);
      return append_scaled(sums, (rows * (rows + 1) - left_out * (left_out + 1)) / 2, out);
    }
    case PoolingMode::max: {
      const std::size_t begin = out.size();
      append(hidden.row(first));
      for (std::size_t r = first + 1; r < hidden.rows; ++r) {
        for (std::size_t c = 0; c < hidden.cols; ++c) out[begin + c] = std::max(out[begin + c], hidden.row(r)[c]);
      }
      return;
    }
    case PoolingMode::pooler:
      if (pooler == nullptr) throw_internal("pooling: the pooler's output was not computed");
      return append(pooler);
  }
}

}  // namespace

std::string_view name_of(PoolingMode mode) {
  switch (mode) {
    case PoolingMode::cls:
      return "cls";
    case PoolingMode::mean:
      return "mean";
    case PoolingMode::max:
      return "max";
    case PoolingMode::last:
      return "last";
    case PoolingMode::mean_sqrt_len:
      return "mean_sqrt_len";
    case PoolingMode::weighted_mean:
      return "weighted_mean";
    case PoolingMode::pooler:
      return "pooler";
  }
  return "?";
}

std::optional<PoolingMode> pooling_mode_named(std::string_view name) {
  for (const PoolingMode mode : {PoolingMode::cls, PoolingMode::mean, PoolingMode::max, PoolingMode::last,
                                 PoolingMode::mean_sqrt_len, PoolingMode::weighted_mean, PoolingMode::pooler}) {
    if (name_of(mode) == name) return mode;
  }
  return std::nullopt;
}

std::string text_of(const std::vector<PoolingMode>& modes) {
  std::string text;
  for (const PoolingMode mode : modes) text += (text.empty() ? "" : "+") + std::string(name_of(mode));
  return text;
}

void pack_dense(DenseModule& dense, const Backend& backend) {
  const auto pack = [&backend](const LinearWeights& weights) {
    const LinearWeights* const joined[] = {&weights};
    return std::shared_ptr<const PackedLinear>(backend.pack(joined, Precision::f32));
  };
  dense.packed = pack(dense.linear);
  if (dense.projects_residual()) dense.packed_residual = pack(dense.residual_linear);
}

namespace {

/// y [rows, out] of x [rows, in].
void apply(const DenseModule& dense, ConstMatrix x, Matrix y, const Backend& backend, Scratch& s) {
  if (dense.packed == nullptr) throw_internal("pooling: dense module " + dense.folder + " was not loaded");
  LinearTail tail;
  tail.activation = dense.activation;
  if (dense.projects_residual()) {
    const Matrix residual = matrix_in(s.dense_residual, x.rows, dense.out);
    backend.linear(*dense.packed_residual, x, residual, {}, nullptr);
    tail.residual = residual;
  } else if (dense.residual) {
    tail.residual = x;
  }
  backend.linear(*dense.packed, x, y, tail, nullptr);
}

}  // namespace

ConstMatrix token_vectors(const PoolingConfig& config, ConstMatrix hidden, const Backend& backend,
                          Workspace& workspace) {
  Scratch& s = *workspace.impl;
  ConstMatrix x = hidden;
  bool first = true;
  for (const DenseModule& dense : config.token_dense) {
    if (dense.in != x.cols) throw_internal("pooling: dense module " + dense.folder + ": another width than before it");
    if (dense.normalize_input) {
      const Matrix unit = matrix_in(s.unit_tokens, x.rows, x.cols);
      for (std::size_t r = 0; r < x.rows; ++r) {
        std::copy_n(x.row(r), x.cols, unit.row(r));
        normalize_l2({unit.row(r), unit.cols});
      }
      x = unit;
    }
    const Matrix y = matrix_in(first ? s.tokens : s.more_tokens, x.rows, dense.out);
    first = !first;
    apply(dense, x, y, backend, s);
    x = y;
  }
  if (!config.normalize_tokens) return x;
  const Matrix unit = matrix_in(s.unit_tokens, x.rows, x.cols);
  for (std::size_t r = 0; r < x.rows; ++r) {
    if (unit.data != x.data) std::copy_n(x.row(r), x.cols, unit.row(r));
    normalize_l2({unit.row(r), unit.cols});
  }
  return unit;
}

void pool(const PoolingConfig& config, ConstMatrix hidden, std::size_t first, const float* pooler, std::size_t dims,
          bool normalize, const Backend& backend, Workspace& workspace, std::vector<float>& out) {
  if (first >= hidden.rows) throw_input("no tokens to pool");
  Scratch& s = *workspace.impl;
  out.clear();
  const ConstMatrix tokens = token_vectors(config, hidden, backend, workspace);
  for (const PoolingMode mode : config.pooling) append_pooled(mode, tokens, first, pooler, s.pooling_sums, out);

  for (const DenseModule& dense : config.dense) {
    if (dense.in != out.size()) {
      throw_usage("pooling: dense module " + dense.folder + ": expected " + std::to_string(dense.in) +
                  " pooled values, got " + std::to_string(out.size()) +
                  "; use the pooling that the model was made with");
    }
    if (dense.normalize_input) normalize_l2(out);
    s.pooled.swap(out);
    out.resize(dense.out);
    apply(dense, {s.pooled.data(), 1, dense.in}, {out.data(), 1, dense.out}, backend, s);
  }

  if (dims > out.size()) {
    throw_usage("--dims: expected at most " + std::to_string(out.size()) + ", the width of the model's vectors, got " +
                std::to_string(dims));
  }
  if (dims != 0) out.resize(dims);
  if (normalize) normalize_l2(out);
  if (dims == 0 && config.truncate_dim != 0 && config.truncate_dim < out.size()) out.resize(config.truncate_dim);
  if (!all_finite(out.data(), out.size())) throw_input("sentence vector: expected finite numbers, got NaN or infinity");
}

}  // namespace mha
