#include "ops/backend/native/engine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/backend/native/finish.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/backend/native/tail-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void FinishBlock(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const native::BlockTail& tail,
                 float* y, std::size_t y_stride) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  if (tail.activation == Activation::none && cols % lanes == 0) {
    for (std::size_t r = 0; r < rows; ++r) {
      const float* line = sums + r * stride;
      const float* residual = tail.residual == nullptr ? nullptr : tail.residual + r * tail.residual_stride;
      float* to = y + r * y_stride;
      for (std::size_t c = 0; c < cols; c += lanes) {
        V32 value = hn::Add(hn::LoadU(d, line + c), hn::LoadU(d, tail.bias + c));
        if (tail.residual != nullptr) value = hn::Add(value, hn::LoadU(d, residual + c));
        hn::StoreU(value, d, to + c);
      }
    }
    return;
  }
  WithActivation(tail.activation, tail.coarse, [&](const auto& function) {
    FinishVectors(sums, stride, rows, cols, tail, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t rest) {
      if (rest == 0) {
        hn::StoreU(value, d, y + r * y_stride + c);
      } else {
        StoreRest(d, value, y + r * y_stride + c, rest);
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

void native::finish_block(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const BlockTail& tail,
                          float* y, std::size_t y_stride) {
  HWY_DYNAMIC_DISPATCH(FinishBlock)(sums, stride, rows, cols, tail, y, y_stride);
}

void native::Engine::finish(const Finish& block) const {
  if (block.y != nullptr) {
    finish_block(block.sums, block.stride, block.rows, block.cols, block.tail, block.y, block.y_stride);
  } else {
    finish_to_operand(block.sums, block.stride, block.rows, block.cols, block.tail, block.operand, block.row, block.column);
  }
}

}  // namespace mha
#endif
