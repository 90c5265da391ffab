#pragma once

#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/ops/backend.hpp"
#include "ops/native/bytes.hpp"
#include "ops/native/engine.hpp"

/// The order in which one thread takes blocks of rows through panels of weights.
namespace mha::native {

/// Rows that go through all panels together: their operand stays in the second-level cache while panels stream by.
constexpr std::size_t kRowsTogether = 256;

/// Scratch of one thread; grows to the largest call and is reused.
struct Scratch {
  Bytes operand;
  Bytes hidden;
  Bytes decoded;
  FloatBuffer sums;
  FloatBuffer second_sums;
  std::vector<RowCode> codes;
  FloatBuffer queries, keys, values;  // projections of a group of heads
};

/// y = activation(x·Wᵀ + b) + residual.
struct LinearCall {
  const Packed& weights;
  ConstMatrix x;
  Matrix y;
  LinearTail tail;
};
/// Panels [panel_begin, panel_end) of all rows of x; x.rows ≤ kRowsTogether.
void multiply_rows(const LinearCall& call, std::size_t panel_begin, std::size_t panel_end, Scratch& scratch);

/// y = activation(x·Winᵀ + b)·Woutᵀ + b + residual.
struct FeedForwardCall {
  const Packed& in;
  const Packed& out;
  ConstMatrix x;
  Activation activation;
  Matrix y;
  LinearTail tail;
};
/// All rows through both products, a chunk of hidden columns at a time. If there are several chunks, the second
/// product's sums continue from chunk to chunk. Both layers belong to the same engine.
void feed_forward_rows(const FeedForwardCall& call, Scratch& scratch);

/// The projection to Q, K and V, and attention; see Backend::project_and_attend.
struct ProjectedAttention {
  const Packed& qkv;
  ConstMatrix x;
  const AttentionCall& attention;
  const RotateHeads& rotate;
  Precision precision;
};
/// Heads of key and value [kv_begin, kv_end), with the queries that look at them: projected, then attended to while
/// their projections are in cache.
void project_and_attend_heads(const ProjectedAttention& call, std::size_t kv_begin, std::size_t kv_end,
                              Scratch& scratch);

}  // namespace mha::native
