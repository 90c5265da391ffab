#include "mha/core/error.hpp"
#include "ops/native/engine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/finish.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/tail-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void FinishBlock(const native::Finish& tail, const float* sums, std::size_t stride, std::size_t first,
                 std::size_t rows) {
  const F32 d;
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    FinishVectors(tail, sums, stride, first, rows, function,
                  [&](std::size_t r, std::size_t c, V32 value, std::size_t rest) {
                    if (rest == 0) {
                      hn::StoreU(value, d, tail.y + r * tail.y_stride + c);
                    } else {
                      StoreRest(d, value, tail.y + r * tail.y_stride + c, rest);
                    }
                  });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(FinishBlock);

namespace native {

void finish_block(const Finish& tail, const float* sums, std::size_t stride, std::size_t row, std::size_t rows) {
  HWY_DYNAMIC_DISPATCH(FinishBlock)(tail, sums, stride, row, rows);
}

void Engine::finish(const Finish& tail, const float* sums, std::size_t stride, std::size_t row,
                    std::size_t rows) const {
  if (tail.y != nullptr) {
    finish_block(tail, sums, stride, row, rows);
  } else {
    finish_to_operand(tail, sums, stride, row, rows);
  }
}

void Engine::finish_to_operand(const Finish&, const float*, std::size_t, std::size_t, std::size_t) const {
  throw_internal("backend: native: rows of this precision become operands whole");
}

void Engine::finish(Waiting& waiting) const {
  if (waiting.rows > 0) finish(waiting.finish, waiting.sums, panel(), waiting.row, waiting.rows);
  waiting.rows = 0;
}

void Engine::multiply_panel(const PanelCall& call, const Finish& tail, float* sums, Waiting&, Ahead next) const {
  const std::size_t block = row_block();
  Lookahead lookahead(next, (call.rows + block - 1) / block);
  for (std::size_t row = 0; row < call.rows; row += block) {
    const std::size_t rows = std::min(block, call.rows - row);
    multiply(call, row, rows, sums, panel(), false, lookahead.step());
    finish(tail, sums, panel(), row, rows);
  }
}

}  // namespace native
}  // namespace mha
#endif
