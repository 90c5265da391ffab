#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "mha/core/numbers.hpp"
#include "mha/ops/convert.hpp"
#include "ops/backend/native/engine.hpp"
#include "ops/cpu.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/backend/native/engine_amx.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/backend/native/tail-inl.hpp"

// Tiles (Intel SDM vol. 1, ch. 18): eight registers of 16 rows of 64 bytes. Four hold sums of 32 rows × 32 columns, two hold
// rows of the input, two hold weights, whose row is one pair of input columns (bf16; a quadruple in int8) for 16
// outputs. Everything here is compiled for AVX-512 with AMX and runs only where `cpu_features` says so.
#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
#pragma GCC push_options
#pragma GCC target("avx512bf16,amx-tile,amx-bf16,amx-int8")
namespace mha {
namespace HWY_NAMESPACE {

constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileBytes = 1024;
constexpr std::size_t kTileRow = 64;
constexpr std::size_t kPanel = 2 * kTileRows;
constexpr std::size_t kBlock = 2 * kTileRows;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t column_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// Keeps the compiler from moving loads and stores across tile instructions; costs nothing at run time.
HWY_INLINE void MemoryBarrier() { asm volatile("" ::: "memory"); }

void BeginTiles() {
  TileConfig config;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    config.column_bytes[tile] = kTileRow;
    config.rows[tile] = kTileRows;
  }
  // GCC's tile intrinsics do not say what memory they touch.
  MemoryBarrier();
  _tile_loadconfig(&config);
}

void EndTiles() { _tile_release(); }

/// Loads the four tiles of sums, or clears them.
template <bool Two>
HWY_INLINE void OpenSums(const void* sums, std::size_t stride, bool accumulate) {
  MemoryBarrier();
  const auto* bytes = static_cast<const std::byte*>(sums);
  if (accumulate) {
    _tile_loadd(0, bytes, stride);
    _tile_loadd(1, bytes + kTileRow, stride);
    if (Two) {
      _tile_loadd(2, bytes + kTileRows * stride, stride);
      _tile_loadd(3, bytes + kTileRows * stride + kTileRow, stride);
    }
  } else {
    _tile_zero(0);
    _tile_zero(1);
    if (Two) {
      _tile_zero(2);
      _tile_zero(3);
    }
  }
}

template <bool Two>
HWY_INLINE void CloseSums(void* sums, std::size_t stride) {
  auto* bytes = static_cast<std::byte*>(sums);
  _tile_stored(0, bytes, stride);
  _tile_stored(1, bytes + kTileRow, stride);
  if (Two) {
    _tile_stored(2, bytes + kTileRows * stride, stride);
    _tile_stored(3, bytes + kTileRows * stride + kTileRow, stride);
  }
  MemoryBarrier();
}

template <bool Two>
HWY_INLINE void LoadRows(const std::byte* rows, std::size_t stride) {
  _tile_loadd(4, rows, stride);
  if (Two) _tile_loadd(5, rows + kTileRows * stride, stride);
}

HWY_INLINE void LoadWeights(const std::byte* tiles) {
  _tile_loadd(6, tiles, kTileRow);
  _tile_loadd(7, tiles + kTileBytes, kTileRow);
}

template <bool Two>
HWY_INLINE void AddProducts() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if (Two) {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

/// Where the parts of a panel's weights lie: part p of step s at part[p] + s · stride[p].
struct Parts {
  const std::byte* part[3];
  std::size_t stride[3];
};

/// One block of sums. The order of an element's products is the same whether one or two tiles of rows take part: step
/// by step, small parts first.
template <std::size_t Planes, bool Two>
HWY_INLINE void MultiplyTiles(const std::byte* rows, std::size_t stride, std::size_t plane, const Parts& weights,
                              std::size_t steps, float* sums, std::size_t sums_stride, bool accumulate) {
  OpenSums<Two>(sums, sums_stride, accumulate);
  for (std::size_t s = 0; s < steps; ++s, rows += kTileRow) {
    const std::byte* high = weights.part[0] + s * weights.stride[0];
    if constexpr (Planes == 1) {
      LoadRows<Two>(rows, stride);
      LoadWeights(high);
      AddProducts<Two>();
    } else if constexpr (Planes == 2) {
      LoadRows<Two>(rows + plane, stride);
      LoadWeights(high);
      AddProducts<Two>();  // low · high
      LoadRows<Two>(rows, stride);
      AddProducts<Two>();  // high · high
      LoadWeights(weights.part[1] + s * weights.stride[1]);
      AddProducts<Two>();  // high · low
    } else {
      const std::byte* middle = weights.part[1] + s * weights.stride[1];
      LoadRows<Two>(rows + 2 * plane, stride);
      LoadWeights(high);
      AddProducts<Two>();  // low · high
      LoadRows<Two>(rows + plane, stride);
      AddProducts<Two>();  // middle · high
      LoadWeights(middle);
      AddProducts<Two>();  // middle · middle
      LoadRows<Two>(rows, stride);
      AddProducts<Two>();  // high · middle
      LoadWeights(weights.part[2] + s * weights.stride[2]);
      AddProducts<Two>();  // high · low
      LoadWeights(high);
      AddProducts<Two>();  // high · high
    }
  }
  CloseSums<Two>(sums, sums_stride);
}

template <std::size_t Planes>
void MultiplyBlock(const std::byte* rows, std::size_t stride, std::size_t plane, const Parts& weights, std::size_t steps,
                   float* sums, std::size_t sums_stride, bool accumulate, std::size_t count) {
  if (count > kTileRows) {
    MultiplyTiles<Planes, true>(rows, stride, plane, weights, steps, sums, sums_stride, accumulate);
  } else {
    MultiplyTiles<Planes, false>(rows, stride, plane, weights, steps, sums, sums_stride, accumulate);
  }
}

/// Round x to bfloat16 and leave the rest in x.
HWY_INLINE __m256i SplitOff(__m512& x) {
  const __m256i part = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16)));
  return part;
}

template <std::size_t Planes>
HWY_INLINE void StoreParts(__m512 x, std::byte* to, std::size_t plane) {
  for (std::size_t p = 0; p + 1 < Planes; ++p) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + p * plane), SplitOff(x));
  const __m256i last = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (Planes - 1) * plane), last);
}

template <std::size_t Planes>
void ConvertRows(ConstMatrix x, const native::Operand& operand, std::size_t cols) {
  constexpr std::size_t kLanes = 16;
  for (std::size_t r = 0; r < x.rows; ++r) {
    const float* from = x.row(r);
    std::byte* to = operand.data + r * operand.stride;
    std::size_t c = 0;
    for (; c + kLanes <= x.cols; c += kLanes) {
      StoreParts<Planes>(_mm512_loadu_ps(from + c), to + c * sizeof(std::uint16_t), operand.plane);
    }
    for (; c < cols; c += kLanes) {
      const std::size_t left = x.cols > c ? x.cols - c : 0;
      const auto mask = static_cast<__mmask16>((1U << left) - 1U);
      StoreParts<Planes>(_mm512_maskz_loadu_ps(mask, from + c), to + c * sizeof(std::uint16_t), operand.plane);
    }
  }
}

template <std::size_t Planes>
void FinishToParts(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const native::BlockTail& tail,
                   std::byte* to, std::size_t to_stride, std::size_t plane) {
  WithActivation(tail.activation, [&](const auto& function) {
    FinishVectors(sums, stride, rows, cols, tail, function, [&](std::size_t r, std::size_t c, V32 value, std::size_t) {
      StoreParts<Planes>(value.raw, to + r * to_stride + c * sizeof(std::uint16_t), plane);
    });
  });
}

/// Middle and low parts of weights that are kept as a high tile (bf16, rounded to nearest) and a tile of the lower
/// 16 bits of the same float32: value bits = (high << 16) + lower, lower taken as signed.
void ExpandTiles(const std::byte* stored, std::size_t tiles, std::byte* middle, std::byte* low) {
  const __m512i upper_mask = _mm512_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m512i half = _mm512_set1_epi32(0x8000);
  const auto split = [&](__m512i high, __m512i rest, __m512i& middle_bits, __m512i& low_bits) {
    const __m512 value = _mm512_castsi512_ps(_mm512_add_epi32(high, rest));
    const __m512 below = _mm512_sub_ps(value, _mm512_castsi512_ps(high));
    middle_bits = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(below), half), upper_mask);
    low_bits = _mm512_castps_si512(_mm512_sub_ps(below, _mm512_castsi512_ps(middle_bits)));
  };
  for (std::size_t t = 0; t < tiles; ++t) {
    // Pairs of tiles: two of high parts, then two of lower bits.
    const std::byte* high_tile = stored + (t / 2) * 4 * kTileBytes + (t % 2) * kTileBytes;
    const std::byte* rest_tile = high_tile + 2 * kTileBytes;
    for (std::size_t row = 0; row < kTileBytes; row += kTileRow) {
      const __m512i high = _mm512_load_si512(high_tile + row);
      const __m512i rest = _mm512_load_si512(rest_tile + row);
      __m512i even_middle;
      __m512i even_low;
      __m512i odd_middle;
      __m512i odd_low;
      split(_mm512_slli_epi32(high, 16), _mm512_srai_epi32(_mm512_slli_epi32(rest, 16), 16), even_middle, even_low);
      split(_mm512_and_si512(high, upper_mask), _mm512_srai_epi32(rest, 16), odd_middle, odd_low);
      const std::size_t at = t * kTileBytes + row;
      _mm512_store_si512(middle + at, _mm512_or_si512(_mm512_srli_epi32(even_middle, 16), odd_middle));
      // The low part has at most eight significant bits: its lower half is zero.
      _mm512_store_si512(low + at, _mm512_or_si512(_mm512_srli_epi32(even_low, 16), odd_low));
    }
  }
}

/// int8: sums of codes, then times the steps of row and column.
template <bool Two>
HWY_INLINE void MultiplyCodes(const std::byte* rows, std::size_t stride, const std::byte* weights, std::size_t steps,
                              float* sums, std::size_t sums_stride) {
  OpenSums<Two>(sums, sums_stride, false);
  for (std::size_t s = 0; s < steps; ++s, rows += kTileRow, weights += 2 * kTileBytes) {
    LoadRows<Two>(rows, stride);
    LoadWeights(weights);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    if (Two) {
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  CloseSums<Two>(sums, sums_stride);
}

void MultiplyCodesBlock(const std::byte* rows, std::size_t stride, const float* row_steps, const std::byte* weights,
                        const float* scale, std::size_t steps, float* sums, std::size_t sums_stride, std::size_t count) {
  if (count > kTileRows) {
    MultiplyCodes<true>(rows, stride, weights, steps, sums, sums_stride);
  } else {
    MultiplyCodes<false>(rows, stride, weights, steps, sums, sums_stride);
  }
  const __m512 left_scale = _mm512_loadu_ps(scale);
  const __m512 right_scale = _mm512_loadu_ps(scale + kTileRows);
  for (std::size_t r = 0; r < count; ++r) {
    float* line = sums + r * sums_stride / sizeof(float);
    const __m512 step = _mm512_set1_ps(row_steps[r]);
    const __m512 left = _mm512_cvtepi32_ps(_mm512_loadu_si512(line));
    const __m512 right = _mm512_cvtepi32_ps(_mm512_loadu_si512(line + kTileRows));
    _mm512_storeu_ps(line, _mm512_mul_ps(left, _mm512_mul_ps(step, left_scale)));
    _mm512_storeu_ps(line + kTileRows, _mm512_mul_ps(right, _mm512_mul_ps(step, right_scale)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
#pragma GCC pop_options
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AMX_KERNELS 1
namespace mha::native {
namespace amx = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_KERNELS
namespace {

/// bfloat16 tiles. One plane: operands rounded. Two and three: each operand is a sum of that many parts, and the
/// products that matter are summed (Henry, Tang & Heinecke 2019, "Leveraging the bfloat16 … data type for higher-precision
/// computation"): three products of two parts, six of three.
template <std::size_t Planes>
class TileEngine final : public Engine {
 public:
  std::string_view name() const override {
    return Planes == 1 ? "AMX tiles" : Planes == 2 ? "three bf16 products on AMX tiles" : "six bf16 products on AMX tiles";
  }
  std::size_t panel() const override { return amx::kPanel; }
  std::size_t row_block() const override { return amx::kBlock; }
  std::size_t step() const override { return 32; }
  std::size_t planes() const override { return Planes; }
  std::size_t element() const override { return sizeof(std::uint16_t); }
  bool splits_depth() const override { return true; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->precision = Planes == 1 ? Precision::bf16 : Planes == 2 ? Precision::bf16x3 : Precision::bf16x6;
    packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
    packed->steps = (weights.in() + step() - 1) / step();
    packed->panel_bytes = packed->steps * kStepBytes;
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    const std::size_t depth = packed->steps * step();
    FloatBuffer row(depth);
    for (std::size_t p = 0; p < packed->panels; ++p) {
      for (std::size_t c = 0; c < amx::kPanel; ++c) {
        std::fill(row.data(), row.data() + depth, 0.0F);
        if (p * amx::kPanel + c < weights.out()) weights.row(p * amx::kPanel + c, row.data());
        std::byte* tile = packed->data.data() + p * packed->panel_bytes + c / 16 * amx::kTileBytes + c % 16 * sizeof(std::uint32_t);
        for (std::size_t s = 0; s < packed->steps; ++s, tile += kStepBytes) {
          for (std::size_t pair = 0; pair < amx::kTileRows; ++pair) {
            put_pair(row.data() + s * step() + 2 * pair, tile + pair * amx::kTileRow);
          }
        }
      }
    }
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
    return packed;
  }

  void convert(ConstMatrix x, const Operand& operand) const override {
    amx::ConvertRows<Planes>(x, operand, (x.cols + step() - 1) / step() * step());
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  std::size_t expanded_bytes(std::size_t steps) const override { return Planes == 3 ? steps * 4 * amx::kTileBytes : 0; }
  void expand(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last,
              std::byte* scratch) const override {
    if (Planes != 3) return;
    const std::size_t tiles = 2 * (last - first);
    amx::ExpandTiles(weights.panel(panel_index) + first * kStepBytes, tiles, scratch, scratch + tiles * amx::kTileBytes);
  }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t first, std::size_t last, const std::byte* expanded,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool accumulate) const override {
    const std::byte* stored = weights.panel(panel_index) + first * kStepBytes;
    amx::Parts parts{{stored, stored + 2 * amx::kTileBytes, nullptr}, {kStepBytes, kStepBytes, 0}};
    if (Planes == 3) {
      const std::size_t step_bytes = 2 * amx::kTileBytes;
      parts = {{stored, expanded, expanded + (last - first) * step_bytes}, {kStepBytes, step_bytes, step_bytes}};
    }
    amx::MultiplyBlock<Planes>(operand.data + row * operand.stride, operand.stride, operand.plane, parts, last - first, sums,
                               stride * sizeof(float), accumulate, rows);
  }

  void finish_to_operand(const float* sums, std::size_t stride, std::size_t rows, std::size_t cols, const BlockTail& tail,
                         const Operand& operand, std::size_t row, std::size_t column) const override {
    std::byte* to = operand.data + row * operand.stride + column * sizeof(std::uint16_t);
    amx::FinishToParts<Planes>(sums, stride, rows, cols, tail, to, operand.stride, operand.plane);
  }

 private:
  /// One step of a panel: two tiles a stored part. Three planes are kept in the four bytes of the float32.
  static constexpr std::size_t kStepBytes = (Planes == 1 ? 2 : 4) * amx::kTileBytes;

  static void put_pair(const float* pair, std::byte* to) {
    std::uint16_t high[2];
    std::uint16_t rest[2];
    for (std::size_t i = 0; i < 2; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, pair + i, sizeof bits);
      if (Planes == 3) {
        high[i] = static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
        rest[i] = static_cast<std::uint16_t>(bits);
      } else {
        high[i] = bf16_from_float(pair[i]);
        if (Planes == 2) rest[i] = bf16_from_float(pair[i] - float_from_bf16(high[i]));
      }
    }
    std::memcpy(to, high, sizeof high);
    if (Planes > 1) std::memcpy(to + 2 * amx::kTileBytes, rest, sizeof rest);
  }
};

class CodeEngine final : public Engine {
 public:
  std::string_view name() const override { return "AMX tiles"; }
  std::size_t panel() const override { return amx::kPanel; }
  std::size_t row_block() const override { return amx::kBlock; }
  std::size_t step() const override { return 64; }
  std::size_t planes() const override { return 1; }
  std::size_t element() const override { return 1; }
  bool splits_depth() const override { return false; }

  std::unique_ptr<Packed> pack(const JoinedWeights& weights) const override {
    auto packed = std::make_unique<Packed>();
    packed->in = weights.in();
    packed->out = weights.out();
    packed->precision = Precision::int8;
    packed->panels = (weights.out() + amx::kPanel - 1) / amx::kPanel;
    packed->steps = (weights.in() + step() - 1) / step();
    packed->panel_bytes = packed->steps * 2 * amx::kTileBytes;
    packed->data = Bytes(packed->panels * packed->panel_bytes);
    packed->scale.resize(packed->panels * amx::kPanel, 0.0F);
    const std::size_t depth = packed->steps * step();
    std::vector<std::int8_t> codes(depth);
    for (std::size_t p = 0; p < packed->panels; ++p) {
      for (std::size_t c = 0; c < amx::kPanel; ++c) {
        const std::size_t column = p * amx::kPanel + c;
        std::fill(codes.begin(), codes.end(), std::int8_t{0});
        if (column < weights.out()) packed->scale[column] = weights.codes(column, codes.data());
        std::byte* tile = packed->data.data() + p * packed->panel_bytes + c / 16 * amx::kTileBytes + c % 16 * 4;
        for (std::size_t s = 0; s < packed->steps; ++s, tile += 2 * amx::kTileBytes) {
          for (std::size_t quad = 0; quad < amx::kTileRows; ++quad) {
            std::memcpy(tile + quad * amx::kTileRow, codes.data() + s * step() + 4 * quad, 4);
          }
        }
      }
    }
    packed->bias = weights.bias();
    packed->bias.resize(packed->panels * amx::kPanel, 0.0F);
    return packed;
  }

  void convert(ConstMatrix x, const Operand& operand) const override {
    const std::size_t cols = (x.cols + step() - 1) / step() * step();
    for (std::size_t r = 0; r < x.rows; ++r) {
      std::byte* to = operand.data + r * operand.stride;
      operand.row_step[r] = quantize_row(x.row(r), reinterpret_cast<std::int8_t*>(to), x.cols);
      std::memset(to + x.cols, 0, cols - x.cols);
    }
  }
  void begin() const override { amx::BeginTiles(); }
  void end() const override { amx::EndTiles(); }

  void multiply(const Packed& weights, std::size_t panel_index, std::size_t, std::size_t, const std::byte*,
                const Operand& operand, std::size_t row, std::size_t rows, float* sums, std::size_t stride,
                bool) const override {
    amx::MultiplyCodesBlock(operand.data + row * operand.stride, operand.stride, operand.row_step + row,
                            weights.panel(panel_index), weights.scale.data() + panel_index * amx::kPanel, weights.steps, sums,
                            stride * sizeof(float), rows);
  }

  void finish_to_operand(const float*, std::size_t, std::size_t, std::size_t, const BlockTail&, const Operand&, std::size_t,
                         std::size_t) const override {}
};

}  // namespace

const Engine* engine_bf16_amx() {
  static const TileEngine<1> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_bf16x3() {
  static const TileEngine<2> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_bf16x6() {
  static const TileEngine<3> engine;
  return cpu_features().amx_bf16 ? &engine : nullptr;
}

const Engine* engine_int8_amx() {
  static const CodeEngine engine;
  return cpu_features().amx_int8 && cpu_features().avx512_bf16 ? &engine : nullptr;
}

#else

const Engine* engine_bf16_amx() { return nullptr; }
const Engine* engine_bf16x3() { return nullptr; }
const Engine* engine_bf16x6() { return nullptr; }
const Engine* engine_int8_amx() { return nullptr; }

#endif

const Engine* engine_bf16() {
  const Engine* tiles = engine_bf16_amx();
  return tiles != nullptr ? tiles : engine_bf16_by_conversion();
}

const Engine* engine_int8() { return engine_int8_amx(); }

}  // namespace mha::native
#endif
