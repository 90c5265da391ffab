#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ops/native/engines.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/f32/engine_f32.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"
#include "ops/native/row_groups-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

// Sums of Rows × Vectors registers, the columns of a panel, and one factor fit the register file. A run of the depth is
// as deep as its part of a panel, with the rows of a group, fits a first-level cache of 32 KiB.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kGroup = 8;
constexpr std::size_t kPanelVectors = 3;
constexpr std::size_t kDepthRun = 128;
#elif HWY_TARGET <= HWY_AVX2
constexpr std::size_t kGroup = 6;
constexpr std::size_t kPanelVectors = 2;
constexpr std::size_t kDepthRun = 128;
#elif HWY_ARCH_ARM_A64
constexpr std::size_t kGroup = 8;
constexpr std::size_t kPanelVectors = 3;
constexpr std::size_t kDepthRun = 256;
#else
constexpr std::size_t kGroup = 4;
constexpr std::size_t kPanelVectors = 2;
constexpr std::size_t kDepthRun = 256;
#endif

/// Of the cache, in bytes.
constexpr std::size_t kLine = 64;

std::size_t PanelWidth() { return kPanelVectors * hn::Lanes(F32()); }

/// sums [Rows, panel] (+)= x [Rows, depth] · b [depth, panel]. Terms are added in the order of the depth, whatever Rows
/// is. Fetching: meanwhile the memory at `ahead` goes to the cache, `share` bytes per column of x.
template <std::size_t Rows, bool Fetching>
HWY_INLINE void MultiplyGroup(const ConstMatrix& x, const float* HWY_RESTRICT b, const Matrix& y, bool accumulate,
                              const std::byte* ahead, std::size_t share) {
  const float* HWY_RESTRICT a = x.data;
  const std::size_t a_stride = x.stride;
  const std::size_t depth = x.cols;
  float* HWY_RESTRICT sums = y.data;
  const std::size_t stride = y.stride;
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
    if constexpr (Fetching) {
#pragma GCC unroll 4
      for (std::size_t line = 0; line < kPanelVectors * sizeof(V32); line += kLine) hwy::Prefetch(ahead + line);
      ahead += share;
    }
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

/// sums (+)= x · b in runs of the depth, whose part of the panel stays in the first-level cache while all rows meet it.
/// Rows go in groups of nearly equal size: a small group at the end would wait for its own multiply-adds. While there
/// are few of them, memory is the limit: each fetches its share of the run that follows, which may be the next panel's.
void MultiplyRows(const ConstMatrix& x, const float* b, const native::SumBlock& sums, bool accumulate) {
  constexpr std::size_t kFewGroups = 4;
  const Matrix y{sums.data, x.rows, PanelWidth(), sums.stride};
  const std::size_t groups = divide_up(x.rows, kGroup);
  const std::size_t share = PanelWidth() * sizeof(float) / groups;
  for (std::size_t k = 0; k < x.cols; k += kDepthRun, b += kDepthRun * PanelWidth()) {
    const ConstMatrix run = x.cols_of(k, std::min(kDepthRun, x.cols - k));
    const std::byte* ahead = reinterpret_cast<const std::byte*>(b + run.cols * PanelWidth());
    for (std::size_t g = 0; g < groups; ++g, ahead += run.cols * share) {
      const std::size_t first = x.rows * g / groups;
      ForCount<kGroup>(x.rows * (g + 1) / groups - first, [&](auto count) HWY_ATTR {
        constexpr std::size_t kCount = decltype(count)::value;
        const ConstMatrix rows = run.rows_of(first, kCount);
        if (groups <= kFewGroups) {
          MultiplyGroup<kCount, true>(rows, b, y.rows_of(first, kCount), accumulate || k > 0, ahead, share);
        } else {
          MultiplyGroup<kCount, false>(rows, b, y.rows_of(first, kCount), accumulate || k > 0, nullptr, 0);
        }
      });
    }
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

/// Panels of whole vectors, one input column per step; operands are rows of floats. `Rounded`: to bfloat16.
template <bool Rounded>
class FloatLayout final : public Layout {
 public:
  std::size_t panel() const override { return HWY_DYNAMIC_DISPATCH(PanelWidth)(); }
  std::size_t row_block() const override { return 48; }
  std::size_t step() const override { return 1; }
  std::size_t operand_bits() const override { return Rounded ? 8 : 24; }
  bool splits_depth() const override { return true; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * panel() * sizeof(float); }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override { return rows * operand_stride(cols); }
  std::size_t operand_stride(std::size_t cols) const override {
    // Not a multiple of 4 KiB: rows of a group fall into different cache sets.
    constexpr std::size_t kLine = 64;
    return round_up(cols * sizeof(float), kLine) + kLine;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    const std::size_t width = panel();
    const std::size_t depth = weights.in();
    packed->in = depth;
    packed->out = weights.out();
    packed->panels = divide_up(weights.out(), width);
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

  void store_operand(const Epilogue& epilogue, const SumBlock& sums) const override {
    Epilogue inside = epilogue;
    inside.y = reinterpret_cast<float*>(epilogue.operand.data) + epilogue.column;
    inside.y_stride = epilogue.operand.stride / sizeof(float);
    store_rows(inside, sums);
    if (!Rounded) return;
    for (std::size_t r = sums.row; r < sums.row + sums.rows; ++r) {
      float* line = inside.y + r * inside.y_stride;
      round(line, epilogue.cols, line);
    }
  }

 private:
  static void round(const float* x, std::size_t count, float* to) {
    HWY_DYNAMIC_DISPATCH(RoundToBfloat16)(x, count, to);
  }
};

/// Multiply-add in float32 on vector units. `Rounded`: of operands rounded to bfloat16, for CPUs that have no
/// instruction for it: products of bfloat16 numbers are exact in float32.
template <bool Rounded>
class FloatEngine final : public Engine {
 public:
  std::string_view name() const override {
    return Rounded ? "bfloat16 operands in float32 multiply-add" : "float32 multiply-add";
  }
  const Layout& layout() const override { return layout_; }

  void multiply(const PanelCall& call, const SumBlock& sums, bool accumulate, Prefetch) const override {
    const std::size_t width = layout_.panel();
    const std::size_t a_stride = call.operand.stride / sizeof(float);
    const auto* a = reinterpret_cast<const float*>(call.operand.data) + sums.row * a_stride;
    const auto* b = reinterpret_cast<const float*>(call.weights.panel(call.panel)) + call.begin * width;
    HWY_DYNAMIC_DISPATCH(MultiplyRows)({a, sums.rows, call.steps(), a_stride}, b, sums, accumulate);
  }

 private:
  FloatLayout<Rounded> layout_;
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
