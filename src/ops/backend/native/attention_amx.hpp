#pragma once

#include "mha/ops/backend.hpp"

namespace mha::native {

/// Whether attention at `precision` runs on tiles here: where operands are rounded to eight bits. In several parts, the
/// conversions cost more than the products save (measured: 69 ms against 50 for 32 × 128 tokens of MiniLM).
bool has_attention_amx(Precision precision);

/// Attention with both products on AMX tiles, operands rounded to bfloat16; softmax in float32. Short inputs, which would
/// leave tiles empty, go to `attention_f32`: what a context row is depends on its own input alone.
void attention_amx(const AttentionCall& call, Executor* executor);

}  // namespace mha::native
