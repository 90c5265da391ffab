#include "mha/ops/activation.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/activation.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/activation-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void Activate(Activation activation, float* x, std::size_t count) {
  if (activation == Activation::none) return;
  WithActivation(activation, false, [&](const auto& function) {
    TransformWide(x, count, [&](auto d, auto load, std::size_t i) { return function(d, load(x + i)); });
  });
}

void ActivateGated(Activation activation, float* x, const float* gate, std::size_t count) {
  WithActivation(activation, false, [&](const auto& function) {
    TransformWide(x, count,
                  [&](auto d, auto load, std::size_t i) { return Mul(function(d, load(x + i)), load(gate + i)); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(Activate);
HWY_EXPORT(ActivateGated);

void activate(Activation activation, float* x, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(Activate)(activation, x, count);
}

void activate_gated(Activation activation, float* x, const float* gate, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(ActivateGated)(activation, x, gate, count);
}

}  // namespace mha
#endif
