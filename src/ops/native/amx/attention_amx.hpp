#pragma once

#include "ops/attention.hpp"

namespace mha::native {

/// Whether attention at `precision` runs on tiles here: where operands are rounded to eight bits. In several parts, the
/// conversions cost more than the products save (measured: 69 ms against 50 for 32 × 128 tokens of MiniLM).
bool has_attention_amx(Precision precision);

/// Attention with both products on AMX tiles, operands rounded to bfloat16; softmax in float32. Tile registers are on
/// while this lives, on its thread.
class AttentionTiles {
 public:
  AttentionTiles();
  ~AttentionTiles();
  AttentionTiles(const AttentionTiles&) = delete;
  AttentionTiles& operator=(const AttentionTiles&) = delete;

  /// Short inputs, which would leave tiles empty, go to `attend_head_f32`: what a context row is depends on its input
  /// alone.
  void attend_head(const AttentionCall& call, std::size_t input, std::size_t head, const HeadRows& rows) const;
};

}  // namespace mha::native
