#include "ops/native/engine.hpp"

#include "mha/core/error.hpp"

namespace mha::native {

std::unique_ptr<Packed> Engine::pack(const JoinedWeights& weights) const {
  auto packed = layout().pack(weights);
  packed->engine = this;
  return packed;
}

void Engine::decode_and_multiply(const PanelCall& call, std::byte* scratch, const SumBlock& sums,
                                 bool accumulate) const {
  decode_weights(call, scratch);
  PanelCall decoded = call;
  decoded.decoded = scratch;
  multiply(decoded, sums, accumulate, {});
}

void Engine::multiply_panel(const PanelCall& call, const Epilogue& epilogue, float* sums, PendingBlock&,
                            Prefetch next) const {
  const std::size_t panel = layout().panel();
  const std::size_t block = layout().row_block();
  PrefetchShares shares(next, divide_up(call.rows, block));
  for (std::size_t row = 0; row < call.rows; row += block) {
    const SumBlock of{sums, panel, row, std::min(block, call.rows - row)};
    multiply(call, of, false, shares.take());
    apply(epilogue, of);
  }
}

void Engine::apply(const Epilogue& epilogue, const SumBlock& sums) const {
  if (epilogue.y != nullptr) {
    store_rows(epilogue, sums);
  } else {
    layout().store_operand(epilogue, sums);
  }
}

void Engine::apply(PendingBlock& pending) const {
  if (pending.sums.rows > 0) apply(pending.epilogue, pending.sums);
  pending.sums.rows = 0;
}

void Layout::store_operand(const Epilogue&, const SumBlock&) const {
  throw_internal("backend: native: rows of this precision become operands whole");
}

}  // namespace mha::native
