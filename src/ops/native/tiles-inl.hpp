// Tiles (Intel SDM vol. 1, ch. 18): eight registers of 16 rows of 64 bytes. Four hold sums of 32 rows × 32 columns, two
// hold rows of the input, two hold weights, whose row is one pair of input columns (bf16; a quadruple in int8) for 16
// outputs. Compiled for AVX-512 with AMX only.
#if defined(MHA_OPS_NATIVE_TILES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_NATIVE_TILES_INL_HPP
#undef MHA_OPS_NATIVE_TILES_INL_HPP
#else
#define MHA_OPS_NATIVE_TILES_INL_HPP
#endif

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/native/engine.hpp"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
#pragma GCC push_options
#pragma GCC target("avx512bf16,avx512vnni,amx-tile,amx-bf16,amx-int8")
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

inline void BeginTiles() {
  TileConfig config;
  for (std::size_t tile = 0; tile < 8; ++tile) {
    config.column_bytes[tile] = kTileRow;
    config.rows[tile] = kTileRows;
  }
  // GCC's tile intrinsics do not say what memory they touch.
  MemoryBarrier();
  _tile_loadconfig(&config);
}

inline void EndTiles() { _tile_release(); }

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

/// Streamed: past the first-level cache, where the weights of a panel stay that many blocks of rows meet.
template <bool Two, bool Streamed = false>
HWY_INLINE void LoadRows(const std::byte* tiles) {
  if constexpr (Streamed) {
    _tile_stream_loadd(4, tiles, kTileRow);
    if (Two) _tile_stream_loadd(5, tiles + kTileBytes, kTileRow);
  } else {
    _tile_loadd(4, tiles, kTileRow);
    if (Two) _tile_loadd(5, tiles + kTileBytes, kTileRow);
  }
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

/// Bytes of one step of a panel, or of a block of rows, with its parts side by side: [part][2 tiles]. Everything that a
/// product reads is one run of memory, which the hardware fetches ahead.
template <std::size_t Parts>
constexpr std::size_t kPartsBytes = Parts * 2 * kTileBytes;

/// The six products of three parts, the small ones first; `between(i)` is called before the i-th.
template <bool Two, class Between>
HWY_INLINE void MultiplySixProducts(const std::byte* rows, const std::byte* weights, const Between& between) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  between(std::size_t{0});
  LoadRows<Two>(rows + 2 * kPart);
  LoadWeights(weights);
  AddProducts<Two>();  // low · high
  between(std::size_t{1});
  LoadRows<Two>(rows + kPart);
  AddProducts<Two>();  // middle · high
  between(std::size_t{2});
  LoadWeights(weights + kPart);
  AddProducts<Two>();  // middle · middle
  between(std::size_t{3});
  LoadRows<Two>(rows);
  AddProducts<Two>();  // high · middle
  between(std::size_t{4});
  LoadWeights(weights + 2 * kPart);
  AddProducts<Two>();  // high · low
  between(std::size_t{5});
  LoadWeights(weights);
  AddProducts<Two>();  // high · high
}

/// The products of one step. The order of an element's products is the same whether one or two tiles of rows take part:
/// small parts first. Weights of a single part (codes, or all of them rounded) meet every part of the rows.
template <std::size_t Parts, std::size_t WeightParts, bool Two, bool Streamed>
HWY_INLINE void MultiplyStep(const std::byte* rows, const std::byte* weights) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  static_assert(WeightParts == 1 || WeightParts == Parts);
  if constexpr (WeightParts == 1) {
    LoadWeights(weights);
    for (std::size_t part = Parts; part > 0; --part) {
      LoadRows<Two, Streamed>(rows + (part - 1) * kPart);
      AddProducts<Two>();
    }
  } else if constexpr (Parts == 2) {
    LoadRows<Two>(rows + kPart);
    LoadWeights(weights);
    AddProducts<Two>();  // low · high
    LoadRows<Two>(rows);
    AddProducts<Two>();  // high · high
    LoadWeights(weights + kPart);
    AddProducts<Two>();  // high · low
  } else {
    MultiplySixProducts<Two>(rows, weights, [](std::size_t) {});
  }
}

/// Asks for a share of memory into the second-level cache.
HWY_INLINE void Prefetch(const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kTileRow) {
    _mm_prefetch(reinterpret_cast<const char*>(from + at), _MM_HINT_T1);
  }
}

/// Products of operands in `Parts` bfloat16 parts with weights in `WeightParts`.
template <std::size_t Parts, std::size_t WeightParts = Parts>
struct PartProducts {
  static constexpr std::size_t kRowBytes = kPartsBytes<Parts>;  // a step
  static constexpr std::size_t kWeightBytes = kPartsBytes<WeightParts>;
  template <bool Two, bool Streamed>
  static HWY_INLINE void multiply(const std::byte* rows, const std::byte* weights) {
    MultiplyStep<Parts, WeightParts, Two, Streamed>(rows, weights);
  }
};

/// Products of codes, in int32.
struct CodeProducts {
  static constexpr std::size_t kRowBytes = 2 * kTileBytes;
  static constexpr std::size_t kWeightBytes = 2 * kTileBytes;
  template <bool Two, bool Streamed>
  static HWY_INLINE void multiply(const std::byte* rows, const std::byte* weights) {
    LoadWeights(weights);
    LoadRows<Two, Streamed>(rows);
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if (Two) {
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
};

/// Where a step of weights is two tiles that meet all rows, they stay in the first-level cache and the rows stream past
/// it.
template <class Products>
constexpr bool kStreamsRows = Products::kWeightBytes == kPartsBytes<1>;

/// One block of sums from rows and weights of `steps` steps; meanwhile `between(i)` is called for each i in [0,
/// kBetween), spread evenly over the steps.
template <class Products, bool Two, bool Streamed, std::size_t kBetween, class Between>
HWY_INLINE void MultiplyTiles(const std::byte* rows, const std::byte* weights, std::size_t steps, void* sums,
                              std::size_t sums_stride, bool accumulate, native::Ahead ahead, const Between& between) {
  OpenSums<Two>(sums, sums_stride, accumulate);
  // A few lines a step: many at once would hold up the tile loads.
  const std::size_t share = (ahead.bytes / steps + kTileRow - 1) / kTileRow * kTileRow;
  std::size_t done = 0;
  std::size_t due = 0;
  for (std::size_t s = 0; s < steps; ++s, rows += Products::kRowBytes, weights += Products::kWeightBytes) {
    Products::template multiply<Two, Streamed>(rows, weights);
    const std::size_t bytes = std::min(share, ahead.bytes);
    Prefetch(ahead.from, bytes);
    ahead.from += bytes;
    ahead.bytes -= bytes;
    if constexpr (kBetween > 0) {
      for (due += kBetween; due >= steps; due -= steps) between(done++);
    }
  }
  CloseSums<Two>(sums, sums_stride);
}

template <class Products, bool Streamed = false>
void MultiplyBlock(const std::byte* rows, const std::byte* weights, std::size_t steps, void* sums,
                   std::size_t sums_stride, bool accumulate, std::size_t count, native::Ahead ahead) {
  const auto nothing = [](std::size_t) {};
  if (count > kTileRows) {
    MultiplyTiles<Products, true, Streamed, 0>(rows, weights, steps, sums, sums_stride, accumulate, ahead, nothing);
  } else {
    MultiplyTiles<Products, false, Streamed, 0>(rows, weights, steps, sums, sums_stride, accumulate, ahead, nothing);
  }
}

/// Where element (row, column) of the first part lies in a tiled operand; the other parts follow 2 tiles apart each.
template <std::size_t Parts>
HWY_INLINE std::byte* TiledAt(const native::Operand& operand, std::size_t row, std::size_t column) {
  constexpr std::size_t kColumns = kTileRow / sizeof(std::uint16_t);
  return operand.data + row / kBlock * operand.stride + column / kColumns * kPartsBytes<Parts> +
         row % kBlock * kTileRow + column % kColumns * sizeof(std::uint16_t);
}

/// 16 rows of 16 32-bit elements: columns become rows.
HWY_INLINE void Transpose16(__m512i* r) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

/// Round x to bfloat16 and leave the rest in x.
HWY_INLINE __m256i SplitOff(__m512& x) {
  const __m256i part = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  x = _mm512_sub_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(part), 16)));
  return part;
}

template <std::size_t Parts>
HWY_INLINE void StoreParts(__m512 x, std::byte* to) {
  constexpr std::size_t kPart = 2 * kTileBytes;
  for (std::size_t p = 0; p + 1 < Parts; ++p)
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + p * kPart), SplitOff(x));
  const __m256i last = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
  _mm256_store_si256(reinterpret_cast<__m256i*>(to + (Parts - 1) * kPart), last);
}

template <std::size_t Parts>
void ConvertRows(ConstMatrix x, const native::Operand& operand, std::size_t cols) {
  constexpr std::size_t kLanes = 16;
  constexpr std::size_t kStep = 2 * kLanes;
  const std::size_t whole = x.cols / kStep * kStep;
  // Step by step within a block of rows: the tiles of a step are one run of memory.
  for (std::size_t first = 0; first < x.rows; first += kBlock) {
    const std::size_t rows = std::min(kBlock, x.rows - first);
    std::byte* to = TiledAt<Parts>(operand, first, 0);
    std::size_t c = 0;
    for (; c < whole; c += kStep, to += kPartsBytes<Parts>) {
      for (std::size_t r = 0; r < rows; ++r) {
        const float* from = x.row(first + r) + c;
        StoreParts<Parts>(_mm512_loadu_ps(from), to + r * kTileRow);
        StoreParts<Parts>(_mm512_loadu_ps(from + kLanes), to + r * kTileRow + kTileRow / 2);
      }
    }
    for (; c < cols; c += kLanes) {
      const std::size_t left = x.cols > c ? x.cols - c : 0;
      const auto mask = static_cast<__mmask16>(left >= kLanes ? 0xFFFFU : (1U << left) - 1U);
      for (std::size_t r = 0; r < rows; ++r) {
        StoreParts<Parts>(_mm512_maskz_loadu_ps(mask, x.row(first + r) + c), TiledAt<Parts>(operand, first + r, c));
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
#pragma GCC pop_options
HWY_AFTER_NAMESPACE();

#endif
#endif
