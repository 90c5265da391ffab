// Products on AMX tiles (Intel SDM vol. 1, ch. 18): eight registers of 16 rows of 64 bytes. Four hold sums of 32 rows ×
// 32 columns, two hold rows of the input, two hold weights.
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
#include "ops/native/levels.hpp"
#include "ops/native/tiled/parts-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AMX();
namespace mha {
namespace HWY_NAMESPACE {

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

/// Fetches memory into the second-level cache.
HWY_INLINE void PrefetchLines(const std::byte* from, std::size_t bytes) {
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

/// True if a step of weights is two tiles that all rows are multiplied by: they stay in the first-level cache, and the
/// rows stream past it.
template <class Products>
constexpr bool kStreamsRows = Products::kWeightBytes == kPartsBytes<1>;

/// One product on tiles: sums (+)= rows · weights.
struct TileProduct {
  const std::byte* rows;     // of one block of an operand
  const std::byte* weights;  // of one panel, decoded
  std::size_t steps;
  float* sums;
  std::size_t stride;  // floats
  bool accumulate;

  std::size_t stride_bytes() const { return stride * sizeof(float); }
};

/// Two: both tiles of rows take part. Meanwhile `between(i)` is called for each i in [0, kBetween), spread evenly over
/// the steps.
template <class Products, bool Two, bool Streamed, std::size_t kBetween, class Between>
HWY_INLINE void MultiplyTiles(const TileProduct& product, native::Prefetch next, const Between& between) {
  const std::size_t steps = product.steps;
  const std::byte* rows = product.rows;
  const std::byte* weights = product.weights;
  OpenSums<Two>(product.sums, product.stride_bytes(), product.accumulate);
  // A few lines per step: many at once would hold up the tile loads.
  const std::size_t share = round_up(next.bytes / steps, kTileRow);
  std::size_t done = 0;
  std::size_t due = 0;
  for (std::size_t s = 0; s < steps; ++s, rows += Products::kRowBytes, weights += Products::kWeightBytes) {
    Products::template multiply<Two, Streamed>(rows, weights);
    const std::size_t bytes = std::min(share, next.bytes);
    PrefetchLines(next.from, bytes);
    next.from += bytes;
    next.bytes -= bytes;
    if constexpr (kBetween > 0) {
      for (due += kBetween; due >= steps; due -= steps) between(done++);
    }
  }
  CloseSums<Two>(product.sums, product.stride_bytes());
}

/// The same for `count` rows.
template <class Products, bool Streamed = false>
void MultiplyBlock(const TileProduct& product, std::size_t count, native::Prefetch next) {
  const auto nothing = [](std::size_t) {};
  if (count > kTileRows) {
    MultiplyTiles<Products, true, Streamed, 0>(product, next, nothing);
  } else {
    MultiplyTiles<Products, false, Streamed, 0>(product, next, nothing);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
#endif
