#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/executor.hpp"
#include "mha/core/tensor.hpp"
#include "mha/ops/activation.hpp"
#include "mha/ops/normalization.hpp"
#include "mha/ops/weights.hpp"

namespace mha {

/// Arithmetic of the matrix products. Everything else is float32 in all of them.
///   f32     float32 multiply-add
///   bf16    operands rounded to bfloat16, products summed in float32
///   bf16x3  operands split in two bfloat16 parts, three products
///   bf16x6  operands split in three parts, six products: float32 accuracy on matrix units
///   w8a16   the weights of int8, activations as finer codes: up to 15 bits
///   int8    weights with a scale a row, activations quantised a row at run time, summed in int32
enum class Precision { f32, bf16, bf16x3, bf16x6, w8a16, int8 };
/// "f32", "bf16", … as `--version` and `bench` print it.
std::string_view name_of(Precision precision);

/// A constant weight in the layout that its backend multiplies fastest. Immutable, shared by threads.
class PackedLinear {
 public:
  virtual ~PackedLinear() = default;
  std::size_t in = 0;
  std::size_t out = 0;
};

/// What follows the product: y = norm(activation(x·Wᵀ + b) + residual).
struct LinearTail {
  Activation activation = Activation::none;
  ConstMatrix residual;           ///< [rows, out], or data == nullptr; may be the same memory as y
  const RowNorm* norm = nullptr;  ///< over the `out` columns, after the residual
};

/// Adds terms to a block of scores before the softmax: relative bias, ALiBi, disentangled positions.
/// Called by attention kernels from several threads at once.
class ScoreBias {
 public:
  virtual ~ScoreBias() = default;
  /// scores[r][k] += term(head, query_begin + r, k) for r < queries, k < keys; rows are `stride` floats apart.
  /// `row` is the batch row of the input's first token (for terms that depend on the content). Terms are in units of
  /// the scaled scores.
  virtual void add(std::size_t row, std::size_t head, std::size_t query_begin, std::size_t queries, std::size_t keys,
                   float* scores, std::size_t stride) const = 0;
};

/// Multi-head attention over the ragged batch (Vaswani et al. 2017, §3.2): softmax(scale·Q·Kᵀ + bias)·V for each input
/// and head. Heads are column blocks of d_head, addressed by stride.
struct AttentionCall {
  ConstMatrix query;                       ///< [N, n_heads · d_head]
  ConstMatrix key, value;                  ///< [N, n_kv_heads · d_head]
  Matrix context;                          ///< [N, n_heads · d_head], written
  std::span<const std::size_t> row_begin;  ///< [inputs + 1]
  std::size_t n_heads = 0;
  std::size_t n_kv_heads = 0;
  std::size_t d_head = 0;
  float scale = 1.0F;
  std::size_t window = 0;  ///< a query sees |i − j| ≤ window; 0: everything
  const ScoreBias* bias = nullptr;
  std::span<const std::uint8_t> ablated;  ///< [n_heads], 1: the head's context is zero; empty: none

  /// Capture, beside the fast path: for each head in `capture_heads`, in that order, [T][T] of each input.
  /// `scores` are Q·Kᵀ, `scaled` what enters the softmax, `probs` what leaves it. nullptr: not wanted.
  /// Input i starts at capture_begin[i] floats.
  std::span<const std::size_t> capture_heads;
  std::span<const std::size_t> capture_begin;
  float* scores = nullptr;
  float* scaled = nullptr;
  float* probs = nullptr;
};

/// Turns Q, K and V of a group of heads in place, each [N, heads of the group · d_head].
using RotateHeads = std::function<void(Matrix query, Matrix key, Matrix value)>;

/// The one seam to the libraries that multiply matrices. Const and re-entrant; results do not depend on the executor,
/// nor on which other rows share a call: row i of y depends on row i of x alone, bit for bit (default backend).
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;    ///< "native", "onednn", "openblas", "reference"
  virtual std::string description() const = 0;  ///< with version and the kernels it chose for this CPU
  virtual bool supports(Precision precision) const = 0;

  /// Packs weights that share their input, rows joined in order (Q, K and V are one projection). The views must stay
  /// valid as long as the result: what is cheaper to read in place, or to pack when it is first used, is not copied.
  /// `input_range` [in] says how large each input column usually gets, in any unit, where that is known: int8 shares
  /// the rounding between inputs and weights by it (Xiao et al. 2022, "SmoothQuant"); others do not look at it.
  virtual std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision,
                                             std::span<const float> input_range) const = 0;
  std::unique_ptr<PackedLinear> pack(std::span<const LinearWeights* const> joined, Precision precision) const {
    return pack(joined, precision, {});
  }

  /// y [N, out] = activation(x [N, in] · Wᵀ + b) + residual.
  virtual void linear(const PackedLinear& weights, ConstMatrix x, Matrix y, const LinearTail& tail,
                      Executor* executor) const = 0;

  /// y [N, out.out] = norm(h · Woutᵀ + b + residual), h = activation(x · Winᵀ + b), never whole in memory.
  /// Gated where in.out == 2 · out.in: h = activation(first half) ⊙ second half. `tail.activation` must be none.
  /// The default runs blocks of rows through `linear`.
  virtual void feed_forward(const PackedLinear& in, const PackedLinear& out, ConstMatrix x, Activation activation,
                            Matrix y, const LinearTail& tail, Executor* executor) const;

  /// Attention of every input and head of the call.
  virtual void attention(const AttentionCall& call, Precision precision, Executor* executor) const = 0;

  /// The projection to Q, K and V (joined in that order) and attention in one, a few heads at a time, so that what is
  /// between them stays in cache; `rotate` may be empty. The call's own query, key and value are not looked at. Gives
  /// the bits of `linear`, rotation and `attention`; false where it does not serve the call: nothing is done then.
  virtual bool project_and_attend(const PackedLinear&, ConstMatrix, const AttentionCall&, const RotateHeads&, Precision,
                                  Executor*) const {
    return false;
  }

  /// What `--dtype auto` means with this backend on this CPU: the fastest that is accurate to float32.
  virtual Precision exact_precision() const { return Precision::f32; }
  /// Rows of a forward pass beyond which splitting the batch (at input boundaries) keeps activations in cache.
  virtual std::size_t rows_in_cache(std::size_t d_model, std::size_t d_ff) const;
};

/// "auto", "native", "onednn", "openblas", "reference". Throws Error{usage} for a name that is not there in this build
/// or on this CPU.
const Backend& backend_named(std::string_view name);
/// Names that can be asked for on this machine, best first.
std::vector<std::string> backend_names();

}  // namespace mha
