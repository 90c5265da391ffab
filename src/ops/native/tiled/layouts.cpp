#include "ops/native/tiled/layouts.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/round_up.hpp"
#include "mha/core/error.hpp"
#include "ops/native/epilogue.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/tiled/layouts.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/native/epilogue-inl.hpp"
#include "ops/native/tiled/parts-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AVX512_BF16();
namespace mha {
namespace HWY_NAMESPACE {

/// Results as the next product's operand.
template <std::size_t Parts>
void StorePartsOfResults(const native::Epilogue& epilogue, const native::SumBlock& sums) {
  WithActivation(epilogue.activation, allows_coarse_activation(epilogue), [&](const auto& function) {
    ForEachResult(epilogue, sums, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t) {
      StoreParts<Parts>(value.raw, TiledAt<Parts>(epilogue.operand, r, epilogue.column + c));
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_TILED_LAYOUTS 1
namespace mha::native {
namespace level = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE && defined(MHA_HAS_TILED_LAYOUTS)
namespace mha::native {
namespace {

class TiledLayout : public Layout {
 public:
  std::size_t panel() const override { return level::kPanel; }
  std::size_t row_block() const override { return level::kBlock; }
  std::size_t operand_bytes(std::size_t rows, std::size_t cols) const override {
    return rows / level::kBlock * operand_stride(cols);
  }

 protected:
  /// Panels for weights of that shape, with their bias, still empty.
  std::unique_ptr<Packed> open_panels(const JoinedWeights& weights) const {
    auto packed = std::make_unique<Packed>();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->panels = divide_up(weights.out(), panel());
    packed->steps = divide_up(weights.in(), step());
    packed->panel_bytes = step_bytes(packed->steps);
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * panel(), 0.0F);
    return packed;
  }
};

/// fill(first output, outputs up to 16, destination) for each column of tiles. The columns of a step are
/// `column_bytes` apart.
template <class Fill>
void for_tile_columns(Packed& packed, std::size_t column_bytes, const Fill& fill) {
  for (std::size_t column = 0; column < packed.panels * level::kPanel; column += level::kTileRows) {
    const std::size_t count = column < packed.out ? std::min(level::kTileRows, packed.out - column) : 0;
    std::byte* panel = packed.data.data() + column / level::kPanel * packed.panel_bytes;
    fill(column, count, panel + column / level::kTileRows % 2 * column_bytes);
  }
}

/// One part: operands are rounded. Two and three: each operand is a sum of that many parts.
template <std::size_t Parts>
class PartsLayout : public TiledLayout {
 public:
  std::size_t step() const override { return level::kPairStep; }
  std::size_t operand_bits() const override { return 8 * Parts; }
  bool splits_depth() const override { return true; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * level::kStoredBytes<Parts>; }
  std::size_t operand_stride(std::size_t cols) const override {
    return divide_up(cols, step()) * level::kPartsBytes<Parts>;
  }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = open_panels(weights);
    const std::size_t depth = packed->steps * step();
    // A column of tiles of a step takes one tile per stored part, or one run of two if the parts are not split yet.
    constexpr std::size_t kColumn = Parts == 3 ? 2 * level::kTileBytes : level::kTileBytes;
    std::vector<float> rows(level::kTileRows * depth);
    for_tile_columns(*packed, kColumn, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(rows.data(), rows.data() + level::kTileRows * depth, 0.0F);
      for (std::size_t n = 0; n < count; ++n) weights.row(first + n, rows.data() + n * depth);
      level::PackOutputs<Parts>(rows.data(), depth, to);
    });
    return packed;
  }

  void convert(const Packed&, ConstMatrix x, const Operand& operand) const override {
    level::ConvertRows<Parts>(x, operand, round_up(x.cols, step()));
  }

  void store_operand(const Epilogue& epilogue, const SumBlock& sums) const override {
    level::StorePartsOfResults<Parts>(epilogue, sums);
  }
};

/// Weights that are codes with one step per row: the codes are exact in bfloat16, and the epilogue multiplies by the
/// steps.
template <std::size_t Parts>
class CodeWeightsLayout final : public PartsLayout<Parts> {
 public:
  std::size_t step_bytes(std::size_t steps) const override { return steps * level::kCodePairBytes; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = this->open_panels(weights);
    const std::size_t depth = packed->steps * this->step();
    packed->column_scale.resize(packed->panels * this->panel(), 0.0F);
    std::vector<std::int8_t> codes(level::kTileRows * depth);
    for_tile_columns(*packed, level::kCodePairBytes / 2, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n)
        packed->column_scale[first + n] = weights.codes(first + n, {}, codes.data() + n * depth);
      level::PackCodePairs(codes.data(), depth, to);
    });
    return packed;
  }
};

class CodesLayout final : public TiledLayout {
 public:
  std::size_t step() const override { return level::kCodeStep; }
  std::size_t operand_bits() const override { return 8; }
  bool splits_depth() const override { return false; }
  std::size_t step_bytes(std::size_t steps) const override { return steps * level::kCodeBytes; }
  std::size_t operand_stride(std::size_t cols) const override { return divide_up(cols, step()) * level::kCodeBytes; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = open_panels(weights);
    const std::size_t depth = packed->steps * step();
    packed->column_scale.resize(packed->panels * panel(), 0.0F);
    packed->sum.resize(packed->panels * panel(), 0);
    const std::vector<float> shares = weights.input_shares();
    for (const float share : shares) packed->input_scale.push_back(1.0F / share);
    std::vector<std::int8_t> codes(level::kTileRows * depth);
    for_tile_columns(*packed, level::kTileBytes, [&](std::size_t first, std::size_t count, std::byte* to) {
      std::fill(codes.begin(), codes.end(), std::int8_t{0});
      for (std::size_t n = 0; n < count; ++n) {
        const auto row = codes.begin() + static_cast<std::ptrdiff_t>(n * depth);
        packed->column_scale[first + n] = weights.codes(first + n, shares, codes.data() + n * depth);
        packed->sum[first + n] = std::accumulate(row, row + static_cast<std::ptrdiff_t>(depth), 0);
      }
      level::PackCodes(codes.data(), depth, to);
    });
    return packed;
  }

  void convert(const Packed& weights, ConstMatrix x, const Operand& operand) const override {
    const std::size_t cols = round_up(x.cols, step());
    if (weights.input_scale.empty()) return level::ConvertCodes<false>(x, nullptr, operand, cols);
    level::ConvertCodes<true>(x, weights.input_scale.data(), operand, cols);
  }
};

template <class Kind>
const Layout& one() {
  static const Kind layout;
  return layout;
}

template <template <std::size_t> class Kind>
const Layout& one_of_parts(std::size_t parts) {
  switch (parts) {
    case 1:
      return one<Kind<1>>();
    case 2:
      return one<Kind<2>>();
    case 3:
      return one<Kind<3>>();
    default:
      throw_internal("backend: native: expected 1 to 3 parts");
  }
}

}  // namespace

const Layout& layout_of_parts(std::size_t parts) { return one_of_parts<PartsLayout>(parts); }
const Layout& layout_of_code_weights(std::size_t parts) { return one_of_parts<CodeWeightsLayout>(parts); }
const Layout& layout_of_codes() { return one<CodesLayout>(); }

}  // namespace mha::native
#endif
