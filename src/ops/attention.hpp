#pragma once

#include "mha/ops/backend.hpp"

namespace mha {

/// Checks that shapes, heads and captures of a call fit together. Throws Error{internal}.
void check_attention(const AttentionCall& call);
/// The same for a call whose Q, K and V are still to be computed.
void check_unprojected(const AttentionCall& call);

/// Calls `use` with each index of `head` in `capture_heads`.
template <class Use>
void for_each_capture(const AttentionCall& call, std::size_t head, const Use& use) {
  for (std::size_t place = 0; place < call.capture_heads.size(); ++place) {
    if (call.capture_heads[place] == head) use(place);
  }
}

/// Rows of one head of one input.
struct HeadRows {
  ConstMatrix query, key, value;  ///< [T, d_head]
  Matrix context;
};
/// The views of one head of one input in the call's matrices.
HeadRows rows_of_head(const AttentionCall& call, std::size_t input, std::size_t head);

/// True if the call captures anything of this head.
bool captures_head(const AttentionCall& call, std::size_t head);

/// Calls run(begin, end) for runs of pairs, pair i being input i / n_heads and head i % n_heads, on the executor's
/// threads.
void for_each_head_run(const AttentionCall& call, Executor* executor,
                       const std::function<void(std::size_t, std::size_t)>& run);
/// Calls piece(input, head) for all of both, in the same runs.
void for_each_head(const AttentionCall& call, Executor* executor,
                   const std::function<void(std::size_t, std::size_t)>& piece);

/// Attention in float32 on vector units: blocks of queries against all keys, scores of a block in cache, exact softmax
/// in two passes. A context row depends on its own input alone.
void attention_f32(const AttentionCall& call, Executor* executor);
/// One head of one input of it. Matrices of the call are not looked at.
void attend_head_f32(const AttentionCall& call, std::size_t input, std::size_t head, const HeadRows& rows);

}  // namespace mha
