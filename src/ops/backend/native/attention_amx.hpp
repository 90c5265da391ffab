#pragma once

#include "mha/ops/backend.hpp"

namespace mha::native {

/// Whether this CPU has tiles for attention at `precision` (int8 attends in bf16).
bool has_attention_amx(Precision precision);

/// Attention with both products on AMX tiles, in as many bfloat16 parts as `precision` says; softmax in float32. Short inputs,
/// which would leave tiles empty, go to `attention_f32`: what a context row is depends on its own input alone.
void attention_amx(const AttentionCall& call, Precision precision, Executor* executor);

}  // namespace mha::native
