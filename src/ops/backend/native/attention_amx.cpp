#include "ops/backend/native/attention_amx.hpp"

#include "ops/attention.hpp"
#include "ops/cpu.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/backend/native/attention_amx.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention-inl.hpp"
#include "ops/backend/native/tiles-inl.hpp"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
#pragma GCC push_options
#pragma GCC target("avx512bf16,amx-tile,amx-bf16,amx-int8")
namespace mha {
namespace HWY_NAMESPACE {

/// Scratch of one thread.
struct TileScratch {
  native::Bytes keys;     // panels of 32 keys: [panel][step of 32 columns][parts][2 tiles]
  native::Bytes values;   // panels of 32 columns: [panel][step of 32 keys][parts][2 tiles]
  native::Bytes queries;  // one block of rows
  native::Bytes probs;    // one block of rows
  FloatBuffer scores;     // [kBlock][padded keys]
  FloatBuffer context;    // [kBlock][kPanel]
};

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

HWY_INLINE __m512 LoadSome(const float* from, std::size_t count) {
  const auto mask = static_cast<__mmask16>(count >= 16 ? 0xFFFFU : (1U << count) - 1U);
  return _mm512_maskz_loadu_ps(mask, from);
}

/// Keys as the weights of q·kᵀ. Keys and columns beyond the last are zero.
template <std::size_t Parts>
HWY_INLINE void PackKeys(ConstMatrix key, std::byte* to) {
  for (std::size_t first = 0; first < key.rows; first += kPanel) {
    for (std::size_t c = 0; c < key.cols; c += 2 * kTileRows, to += kPartsBytes<Parts>) {
      for (std::size_t tile = 0; tile < 2; ++tile) {
        __m512i part[Parts][kTileRows];
        for (std::size_t n = 0; n < kTileRows; ++n) {
          const std::size_t row = first + tile * kTileRows + n;
          __m512 left = _mm512_setzero_ps();
          __m512 right = _mm512_setzero_ps();
          if (row < key.rows) {
            left = LoadSome(key.row(row) + c, key.cols - c);
            if (key.cols > c + 16) right = LoadSome(key.row(row) + c + 16, key.cols - c - 16);
          }
#pragma GCC unroll 3
          for (std::size_t p = 0; p < Parts; ++p) {
            part[p][n] = _mm512_inserti64x4(_mm512_castsi256_si512(SplitOff(left)), SplitOff(right), 1);
          }
        }
#pragma GCC unroll 3
        for (std::size_t p = 0; p < Parts; ++p) {
          Transpose16(part[p]);
          std::byte* rows = to + (2 * p + tile) * kTileBytes;
          for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(rows + n * kTileRow, part[p][n]);
        }
      }
    }
  }
}

/// Values as the weights of p·v: rows of a tile are pairs of keys. Keys and columns beyond the last are zero.
template <std::size_t Parts>
HWY_INLINE void PackValues(ConstMatrix value, std::size_t steps, std::byte* to) {
  for (std::size_t c = 0; c < value.cols; c += kPanel) {
    for (std::size_t s = 0; s < steps; ++s, to += kPartsBytes<Parts>) {
      for (std::size_t tile = 0; tile < 2; ++tile) {
        const std::size_t column = c + tile * kTileRows;
        const std::size_t left = value.cols > column ? value.cols - column : 0;
        for (std::size_t pair = 0; pair < kTileRows; ++pair) {
          const std::size_t row = s * 2 * kTileRows + 2 * pair;
          __m512 even = row < value.rows ? LoadSome(value.row(row) + column, left) : _mm512_setzero_ps();
          __m512 odd = row + 1 < value.rows ? LoadSome(value.row(row + 1) + column, left) : _mm512_setzero_ps();
#pragma GCC unroll 3
          for (std::size_t p = 0; p < Parts; ++p) {
            const __m512i low = _mm512_cvtepu16_epi32(SplitOff(even));
            const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(SplitOff(odd)), 16);
            _mm512_store_si512(to + (2 * p + tile) * kTileBytes + pair * kTileRow, _mm512_or_si512(low, high));
          }
        }
      }
    }
  }
}

/// Products of bfloat16 parts on tiles.
template <std::size_t Parts>
class TileProducts {
 public:
  static constexpr std::size_t kQueries = kBlock;
  static constexpr std::size_t kKeyUnit = kPanel;

  TileProducts(const HeadRows& rows, TileScratch& scratch) : rows_(rows) {
    const std::size_t tokens = rows.key.rows;
    key_panels_ = (tokens + kPanel - 1) / kPanel;
    column_steps_ = (rows.key.cols + kPanel - 1) / kPanel;
    // Rows of scores a whole number of pages apart would share cache sets.
    score_stride_ = key_panels_ * kPanel + kTileRows;
    scratch.keys.reserve(key_panels_ * column_steps_ * kPartsBytes<Parts>);
    scratch.values.reserve(key_panels_ * column_steps_ * kPartsBytes<Parts>);
    scratch.queries.reserve(column_steps_ * kPartsBytes<Parts>);
    scratch.probs.reserve(key_panels_ * kPartsBytes<Parts>);
    scratch.scores.reserve(kBlock * score_stride_);
    scratch.context.reserve(kBlock * kPanel);
    keys_ = scratch.keys.data();
    values_ = scratch.values.data();
    queries_ = {scratch.queries.data(), column_steps_ * kPartsBytes<Parts>, nullptr};
    probs_ = {scratch.probs.data(), key_panels_ * kPartsBytes<Parts>, nullptr};
    scores_ = scratch.scores.data();
    context_ = scratch.context.data();
    PackKeys<Parts>(rows.key, keys_);
    PackValues<Parts>(rows.value, key_panels_, values_);
  }

  float* score_row(std::size_t r) const { return scores_ + r * score_stride_; }

  void scores(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end) const {
    ConvertRows<Parts>(rows_.query.rows_of(first, queries), queries_, column_steps_ * kPanel);
    for (std::size_t panel = begin / kPanel; panel * kPanel < end; ++panel) {
      MultiplyBlock<Parts>(queries_.data, keys_ + panel * column_steps_ * kPartsBytes<Parts>, column_steps_,
                           scores_ + panel * kPanel, score_stride_ * sizeof(float), false, queries, {});
    }
  }

  void context(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end, const float* inverse_sums) const {
    const std::size_t first_step = begin / kPanel;
    const std::size_t steps = (end - begin + kPanel - 1) / kPanel;
    ConvertRows<Parts>({scores_ + begin, queries, end - begin, score_stride_}, probs_, steps * kPanel);
    for (std::size_t panel = 0; panel < column_steps_; ++panel) {
      MultiplyBlock<Parts>(probs_.data, values_ + (panel * key_panels_ + first_step) * kPartsBytes<Parts>, steps, context_,
                           kPanel * sizeof(float), false, queries, {});
      const std::size_t column = panel * kPanel;
      const std::size_t cols = std::min(kPanel, rows_.context.cols - column);
      for (std::size_t r = 0; r < queries; ++r) {
        ScaleInto(inverse_sums[r], context_ + r * kPanel, rows_.context.row(first + r) + column, cols);
      }
    }
  }

 private:
  const HeadRows& rows_;
  std::size_t key_panels_ = 0;
  std::size_t column_steps_ = 0;
  std::size_t score_stride_ = 0;
  std::byte* keys_ = nullptr;
  std::byte* values_ = nullptr;
  native::Operand queries_;
  native::Operand probs_;
  float* scores_ = nullptr;
  float* context_ = nullptr;
};

template <std::size_t Parts>
void AttendHeadTiles(const AttentionCall& call, std::size_t input, std::size_t head, TileScratch& scratch) {
  if (ClearAblated(call, input, head)) return;
  const HeadRows rows = RowsOfHead(call, input, head);
  BeginTiles();
  AttendHead(call, input, head, TileProducts<Parts>(rows, scratch));
  EndTiles();
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
#pragma GCC pop_options
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AMX_ATTENTION 1
namespace mha::native {
namespace amx = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_ATTENTION

bool has_attention_amx(Precision precision) { return precision != Precision::f32 && cpu_features().amx_bf16; }

void attention_amx(const AttentionCall& call, Precision precision, Executor* executor) {
  // One tile of queries.
  constexpr std::size_t kShortest = 17;
  for_each_head(call, executor, [&](std::size_t input, std::size_t head) {
    if (call.row_begin[input + 1] - call.row_begin[input] < kShortest) return attend_head_f32(call, input, head);
    thread_local amx::TileScratch scratch;
    switch (precision) {
      case Precision::bf16x6: return amx::AttendHeadTiles<3>(call, input, head, scratch);
      case Precision::bf16x3: return amx::AttendHeadTiles<2>(call, input, head, scratch);
      default: return amx::AttendHeadTiles<1>(call, input, head, scratch);
    }
  });
}

#else

bool has_attention_amx(Precision) { return false; }

void attention_amx(const AttentionCall& call, Precision, Executor* executor) { attention_f32(call, executor); }

#endif

}  // namespace mha::native
#endif
