#include "ops/native/codes/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/round_up.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/codes/layouts.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"
#include "ops/native/codes/panel-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

std::size_t CodePanel() { return CodePanelWidth(); }

/// One row as codes 0…largest in elements of type T, with one step and one zero; returns both. The range reaches from
/// the row's least value to its largest, 0 included: after GELU nearly all of it is on one side. `scale`: factors of
/// the columns; nullptr: none. Codes from `cols` up to `padded` are zero.
template <class T>
HWY_INLINE native::RowCode QuantizeRow(const float* x, const float* scale, std::size_t cols, float largest_code, T* to,
                                       std::size_t padded) {
  // Below this the inverse of the step is infinite, and the row is zero for any purpose.
  constexpr float kSmallest = 1e-35F;
  const F32 d;
  const I32 di;
  const hn::Rebind<T, F32> dt;
  const std::size_t lanes = hn::Lanes(d);
  const auto for_each_vector = [&](const auto& body) HWY_ATTR {
    const auto value = [&](const auto& load, std::size_t c)
                           HWY_ATTR { return scale == nullptr ? load(x + c) : hn::Mul(load(x + c), load(scale + c)); };
    std::size_t c = 0;
    for (; c + lanes <= cols; c += lanes) body(c, lanes, value(FullLoad(), c));
    if (c < cols) body(c, cols - c, value(RestLoad{cols - c}, c));
  };
  V32 least = hn::Zero(d);
  V32 largest = hn::Zero(d);
  V32 nan_keeper = hn::Zero(d);
  for_each_vector([&](std::size_t, std::size_t, V32 value) HWY_ATTR {
    least = hn::Min(least, value);
    largest = hn::Max(largest, value);
    nan_keeper = hn::MulAdd(value, hn::Zero(d), nan_keeper);
  });
  const float low = -LaneMax(d, hn::Neg(least));
  // A row with NaN or infinity has a step that is not finite, so that its results are not either.
  const float range = LaneMax(d, largest) - low + LaneSum(d, nan_keeper);
  const bool flat = range <= kSmallest;
  const float inverse = flat ? 0.0F : largest_code / range;
  const float zero = std::nearbyint(-low * inverse);
  const native::RowCode code{flat ? 0.0F : range / largest_code,
                             std::isfinite(zero) ? static_cast<std::int32_t>(zero) : 0};
  const auto inverses = hn::Set(d, inverse);
  const auto zeros = hn::Set(di, code.zero);
  const auto limit = hn::Set(di, static_cast<std::int32_t>(largest_code));
  for_each_vector([&](std::size_t c, std::size_t count, V32 value) HWY_ATTR {
    const auto shifted = hn::Add(hn::NearestInt(hn::Mul(value, inverses)), zeros);
    const auto codes = hn::DemoteTo(dt, hn::Min(hn::Max(shifted, hn::Zero(di)), limit));
    if (count == lanes) return hn::StoreU(codes, dt, to + c);
    HWY_ALIGN T rest[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(codes, dt, rest);
    std::copy_n(rest, count, to + c);
  });
  std::fill(to + cols, to + padded, T{0});
  return code;
}

/// All rows of x, as `QuantizeRow`, into an operand of elements of type T.
template <class T>
HWY_INLINE void QuantizeRows(ConstMatrix x, const float* scale, float largest_code, const native::Operand& operand,
                             std::size_t padded) {
  for (std::size_t r = 0; r < x.rows; ++r) {
    auto* to = reinterpret_cast<T*>(operand.data + r * operand.stride);
    operand.codes[r] = QuantizeRow(x.row(r), scale, x.cols, largest_code, to, padded);
  }
}

void QuantizeToBytes(ConstMatrix x, const float* scale, float largest_code, const native::Operand& operand,
                     std::size_t padded) {
  QuantizeRows<std::uint8_t>(x, scale, largest_code, operand, padded);
}

void QuantizeToWords(ConstMatrix x, const float* scale, float largest_code, const native::Operand& operand,
                     std::size_t padded) {
  QuantizeRows<std::int16_t>(x, scale, largest_code, operand, padded);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(CodePanel);
HWY_EXPORT(QuantizeToBytes);
HWY_EXPORT(QuantizeToWords);

namespace native {
namespace {

template <std::size_t Group, bool Wide>
class CodeRowsLayout final : public Layout {
 public:
  std::size_t panel() const override { return HWY_DYNAMIC_DISPATCH(CodePanel)(); }
  std::size_t row_block() const override { return 48; }
  std::size_t step() const override { return Group; }
  std::size_t operand_bits() const override { return Wide ? 15 : 8; }
  bool splits_depth() const override { return false; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * panel() * Group; }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override { return rows * operand_stride(cols); }
  std::size_t operand_stride(std::size_t cols) const override {
    // Not a multiple of 4 KiB: rows of a group fall into different cache sets.
    constexpr std::size_t kLine = 64;
    return round_up(divide_up(cols, Group) * sizeof(std::int32_t), kLine) + kLine;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    const std::size_t width = panel();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->panels = divide_up(weights.out(), width);
    packed->steps = divide_up(weights.in(), Group);
    packed->panel_bytes = step_bytes(packed->steps);
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * width, 0.0F);
    packed->column_scale.resize(packed->panels * width, 0.0F);
    packed->sum.resize(packed->panels * width, 0);
    const std::vector<float> shares = weights.input_shares();
    for (const float share : shares) packed->input_scale.push_back(1.0F / share);
    std::fill_n(packed->data.data(), packed->panels * packed->panel_bytes, std::byte{0});
    std::vector<std::int8_t> codes(packed->steps * Group);
    for (std::size_t o = 0; o < packed->out; ++o) {
      packed->column_scale[o] = weights.codes(o, shares, codes.data());
      packed->sum[o] = std::accumulate(codes.begin(), codes.end(), 0);
      auto* to =
          reinterpret_cast<std::int8_t*>(packed->data.data() + o / width * packed->panel_bytes) + o % width * Group;
      for (std::size_t step = 0; step < packed->steps; ++step) {
        std::copy_n(codes.data() + step * Group, Group, to + step * width * Group);
      }
    }
    return packed;
  }

  void convert(const Packed& weights, ConstMatrix x, const Operand& operand) const override {
    const float* scale = weights.input_scale.empty() ? nullptr : weights.input_scale.data();
    const std::size_t padded = divide_up(x.cols, Group) * Group;
    if (Group == 2) {
      HWY_DYNAMIC_DISPATCH(QuantizeToWords)(x, scale, largest_code(x.cols), operand, padded);
    } else {
      HWY_DYNAMIC_DISPATCH(QuantizeToBytes)(x, scale, largest_code(x.cols), operand, padded);
    }
  }

 private:
  /// Sums of `depth` products of codes with weights of −128…127 stay within int32.
  static float largest_code(std::size_t depth) {
    constexpr std::int64_t kByte = 255;
    if (!Wide) return static_cast<float>(kByte);
    constexpr std::int64_t kWord = std::numeric_limits<std::int16_t>::max();
    const std::int64_t most = std::numeric_limits<std::int32_t>::max() / (128 * static_cast<std::int64_t>(depth));
    return static_cast<float>(std::clamp(most, kByte, kWord));
  }
};

}  // namespace

const Layout& layout_of_code_pairs() {
  static const CodeRowsLayout<2, false> layout;
  return layout;
}

const Layout& layout_of_wide_code_pairs() {
  static const CodeRowsLayout<2, true> layout;
  return layout;
}

const Layout& layout_of_code_quadruples() {
  static const CodeRowsLayout<4, false> layout;
  return layout;
}

}  // namespace native
}  // namespace mha
#endif
