#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/cpu.hpp"
#include "ops/native/engine.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/engine_f32.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// Sums of Rows × Vectors registers, the columns of a panel, and one factor fit the register file.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kGroup = 8;
constexpr std::size_t kPanelVectors = 3;
#elif HWY_TARGET <= HWY_AVX2
constexpr std::size_t kGroup = 6;
constexpr std::size_t kPanelVectors = 2;
#else
constexpr std::size_t kGroup = 4;
constexpr std::size_t kPanelVectors = 2;
#endif

std::size_t PanelWidth() { return kPanelVectors * hn::Lanes(F32()); }

/// sums [Rows, panel] (+)= a [Rows, depth] · b [depth, panel]; terms are added in the order of the depth, whatever
/// Rows.
template <std::size_t Rows>
HWY_INLINE void MultiplyGroup(const float* HWY_RESTRICT a, std::size_t a_stride, const float* HWY_RESTRICT b,
                              std::size_t depth, float* HWY_RESTRICT sums, std::size_t stride, bool accumulate) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  V32 s[Rows][kPanelVectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kPanelVectors; ++v) {
      s[r][v] = accumulate ? hn::LoadU(d, sums + r * stride + v * lanes) : hn::Zero(d);
    }
  }
  for (std::size_t k = 0; k < depth; ++k, b += kPanelVectors * lanes) {
    V32 columns[kPanelVectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kPanelVectors; ++v) columns[v] = hn::Load(d, b + v * lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const V32 factor = hn::Set(d, a[r * a_stride + k]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kPanelVectors; ++v) s[r][v] = hn::MulAdd(factor, columns[v], s[r][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kPanelVectors; ++v) hn::StoreU(s[r][v], d, sums + r * stride + v * lanes);
  }
}

/// x rounded to bfloat16, as `bf16_from_float` does it: to nearest, ties to even; NaN stays NaN.
HWY_INLINE V32 RoundedToBfloat16(F32 d, V32 x) {
  const hn::Repartition<std::uint32_t, F32> du;
  const auto upper = hn::Set(du, 0xFFFF0000U);
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  const V32 rounded = hn::BitCast(d, hn::And(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFU))), upper));
  const V32 quiet = hn::BitCast(d, hn::And(hn::Or(bits, hn::Set(du, 0x400000U)), upper));
  return hn::IfThenElse(hn::IsNaN(x), quiet, rounded);
}

void RoundToBfloat16(const float* x, std::size_t count, float* to) {
  const F32 d;
  Transform(d, to, count, [&](auto load, std::size_t i) { return RoundedToBfloat16(d, load(x + i)); });
}

/// In runs of the depth whose part of the panel stays in the first-level cache while all rows meet it.
void MultiplyRows(const float* a, std::size_t a_stride, const float* b, std::size_t depth, std::size_t rows,
                  float* sums, std::size_t stride, bool accumulate) {
  constexpr std::size_t kDepthRun = 128;
  for (std::size_t k = 0; k < depth; k += kDepthRun, a += kDepthRun, b += kDepthRun * PanelWidth()) {
    const std::size_t run = std::min(kDepthRun, depth - k);
    std::size_t r = 0;
    const auto group = [&](auto count) {
      MultiplyGroup<decltype(count)::value>(a + r * a_stride, a_stride, b, run, sums + r * stride, stride,
                                            accumulate || k > 0);
      r += decltype(count)::value;
    };
    while (r + kGroup <= rows) group(std::integral_constant<std::size_t, kGroup>());
    if (kGroup > 4 && r + 4 <= rows) group(std::integral_constant<std::size_t, 4>());
    if (r + 2 <= rows) group(std::integral_constant<std::size_t, 2>());
    while (r < rows) group(std::integral_constant<std::size_t, 1>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(PanelWidth);
HWY_EXPORT(MultiplyRows);
HWY_EXPORT(RoundToBfloat16);

namespace native {
namespace {

/// Multiply-add in float32 on vector units. `Rounded`: operands are rounded to bfloat16 first, for CPUs that have no
/// instruction for it: products of bfloat16 numbers are exact in float32.
template <bool Rounded>
class FloatEngine final : public Engine {
 public:
  std::string_view name() const override {
    return Rounded ? "bfloat16 operands in float32 multiply-add" : "float32 multiply-add";
  }
  std::size_t panel() const override { return HWY_DYNAMIC_DISPATCH(PanelWidth)(); }
  std::size_t row_block() const override { return 48; }
  std::size_t step() const override { return 1; }
  bool coarse() const override { return Rounded; }
  bool splits_depth() const override { return true; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * panel() * sizeof(float); }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override { return rows * operand_stride(cols); }
  std::size_t operand_stride(std::size_t cols) const override {
    // Not a multiple of 4 KiB: rows of a group fall into different cache sets.
    constexpr std::size_t kLine = 64;
    return (cols * sizeof(float) + kLine - 1) / kLine * kLine + kLine;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    const std::size_t width = panel();
    const std::size_t depth = weights.in();
    packed->in = depth;
    packed->out = weights.out();
    packed->panels = (weights.out() + width - 1) / width;
    packed->steps = depth;
    packed->panel_bytes = depth * width * sizeof(float);
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    auto* to = reinterpret_cast<float*>(packed->data.data());
    std::vector<float> rows(width * depth);
    for (std::size_t p = 0; p < packed->panels; ++p, to += depth * width) {
      std::fill(rows.data(), rows.data() + width * depth, 0.0F);
      const std::size_t present = std::min(width, weights.out() - p * width);
      for (std::size_t c = 0; c < present; ++c) weights.row(p * width + c, rows.data() + c * depth);
      if (Rounded) round(rows.data(), width * depth, rows.data());
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t c = 0; c < width; ++c) to[k * width + c] = rows.data()[c * depth + k];
      }
    }
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * width, 0.0F);
    return packed;
  }

  void convert(const Packed&, ConstMatrix x, const Operand& operand) const override {
    for (std::size_t r = 0; r < x.rows; ++r) {
      auto* to = reinterpret_cast<float*>(operand.data + r * operand.stride);
      if (Rounded) {
        round(x.row(r), x.cols, to);
      } else {
        std::memcpy(to, x.row(r), x.cols * sizeof(float));
      }
    }
  }

  void multiply(const PanelCall& call, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate, Ahead) const override {
    const std::size_t width = panel();
    const std::size_t a_stride = call.operand.stride / sizeof(float);
    const auto* a = reinterpret_cast<const float*>(call.operand.data) + row * a_stride;
    const auto* b = reinterpret_cast<const float*>(call.weights.panel(call.panel)) + call.begin * width;
    HWY_DYNAMIC_DISPATCH(MultiplyRows)(a, a_stride, b, call.end - call.begin, rows, sums, stride, accumulate);
  }

 protected:
  void finish_to_operand(const Finish& tail, const float* sums, std::size_t stride, std::size_t row,
                         std::size_t rows) const override {
    Finish inside = tail;
    inside.y = reinterpret_cast<float*>(tail.operand.data) + tail.column;
    inside.y_stride = tail.operand.stride / sizeof(float);
    finish_block(inside, sums, stride, row, rows);
    if (!Rounded) return;
    for (std::size_t r = row; r < row + rows; ++r) {
      float* line = inside.y + r * inside.y_stride;
      round(line, tail.cols, line);
    }
  }

 private:
  static void round(const float* x, std::size_t count, float* to) {
    HWY_DYNAMIC_DISPATCH(RoundToBfloat16)(x, count, to);
  }
};

}  // namespace

const Engine* engine_f32() {
  static const FloatEngine<false> engine;
  return &engine;
}

const Engine* engine_bf16_by_conversion() {
  static const FloatEngine<true> engine;
  return &engine;
}

}  // namespace native
}  // namespace mha
#endif
