#include "ops/native/amx/attention_amx.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention.hpp"
#include "ops/cpu.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/native/amx/attention_amx.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"
#include "ops/native/amx/tiles-inl.hpp"

// The block loop calls back into code that is compiled for tiles, so it must be too.
#undef MHA_BEFORE_ATTENTION
#if HWY_TARGET == HWY_AVX3
#define MHA_BEFORE_ATTENTION MHA_BEFORE_AMX
#else
#define MHA_BEFORE_ATTENTION HWY_BEFORE_NAMESPACE
#endif
#include "ops/attention-inl.hpp"

#if HWY_TARGET == HWY_AVX3

MHA_BEFORE_AMX();
namespace mha {
namespace HWY_NAMESPACE {

/// Scratch of one thread.
struct TileScratch {
  native::Bytes keys;     // panels of 32 keys: [panel][step of 32 columns][2 tiles]
  native::Bytes values;   // panels of 32 columns: [panel][step of 32 keys][2 tiles]
  native::Bytes queries;  // one block of rows
  native::Bytes probs;    // one block of rows
  FloatBuffer scores;     // [kBlock][padded keys]
  FloatBuffer context;    // [kBlock][kPanel]
};

/// Keys as the weights of q·kᵀ. Keys and columns beyond the last are zero.
HWY_INLINE void PackKeys(ConstMatrix key, std::byte* to) {
  for (std::size_t first = 0; first < key.rows; first += kPanel) {
    for (std::size_t c = 0; c < key.cols; c += 2 * kTileRows, to += kPartsBytes<1>) {
      for (std::size_t tile = 0; tile < 2; ++tile) {
        __m512i pairs[kTileRows];
        for (std::size_t n = 0; n < kTileRows; ++n) {
          const std::size_t row = first + tile * kTileRows + n;
          __m512 left = _mm512_setzero_ps();
          __m512 right = _mm512_setzero_ps();
          if (row < key.rows) {
            left = LoadSome(key.row(row) + c, key.cols - c);
            if (key.cols > c + 16) right = LoadSome(key.row(row) + c + 16, key.cols - c - 16);
          }
          pairs[n] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left));
        }
        Transpose16(pairs);
        for (std::size_t n = 0; n < kTileRows; ++n) _mm512_store_si512(to + tile * kTileBytes + n * kTileRow, pairs[n]);
      }
    }
  }
}

/// Values as the weights of p·v: rows of a tile are pairs of keys. Keys and columns beyond the last are zero.
HWY_INLINE void PackValues(ConstMatrix value, std::size_t steps, std::byte* to) {
  for (std::size_t c = 0; c < value.cols; c += kPanel) {
    for (std::size_t s = 0; s < steps; ++s, to += kPartsBytes<1>) {
      for (std::size_t tile = 0; tile < 2; ++tile) {
        const std::size_t column = c + tile * kTileRows;
        const std::size_t left = value.cols > column ? value.cols - column : 0;
        for (std::size_t pair = 0; pair < kTileRows; ++pair) {
          const std::size_t row = s * 2 * kTileRows + 2 * pair;
          const __m512 even = row < value.rows ? LoadSome(value.row(row) + column, left) : _mm512_setzero_ps();
          const __m512 odd = row + 1 < value.rows ? LoadSome(value.row(row + 1) + column, left) : _mm512_setzero_ps();
          const __m512i low = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(even)));
          const __m512i high = _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(odd)));
          _mm512_store_si512(to + tile * kTileBytes + pair * kTileRow,
                             _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
      }
    }
  }
}

/// Products of bfloat16 operands on tiles.
class TileProducts {
 public:
  static constexpr std::size_t kQueries = kBlock;
  static constexpr std::size_t kKeyUnit = kPanel;
  static constexpr bool kDirect = true;
  template <class D, class V>
  static HWY_INLINE V exponential(D d, V x) {
    return CoarseExp(d, x);
  }

  TileProducts(const HeadRows& rows, TileScratch& scratch) : rows_(rows) {
    const std::size_t tokens = rows.key.rows;
    key_panels_ = divide_up(tokens, kPanel);
    column_steps_ = divide_up(rows.key.cols, kPanel);
    // Rows of scores a whole number of pages apart would share cache sets.
    score_stride_ = key_panels_ * kPanel + kTileRows;
    scratch.keys.reserve(key_panels_ * column_steps_ * kPartsBytes<1>);
    scratch.values.reserve(key_panels_ * column_steps_ * kPartsBytes<1>);
    scratch.queries.reserve(column_steps_ * kPartsBytes<1>);
    scratch.probs.reserve(key_panels_ * kPartsBytes<1>);
    scratch.scores.reserve(kBlock * score_stride_);
    scratch.context.reserve(kBlock * kPanel);
    keys_ = scratch.keys.data();
    values_ = scratch.values.data();
    queries_ = {scratch.queries.data(), column_steps_ * kPartsBytes<1>, nullptr};
    probs_ = {scratch.probs.data(), key_panels_ * kPartsBytes<1>, nullptr};
    scores_ = scratch.scores.data();
    context_ = scratch.context.data();
    // The last step of probabilities may be half there; the other half of its tiles stays zero.
    const std::size_t last = (key_panels_ - 1) * kPartsBytes<1>;
    std::fill_n(probs_.data + last, kPartsBytes<1>, std::byte{0});
    PackKeys(rows.key, keys_);
    PackValues(rows.value, key_panels_, values_);
  }

  float* score_row(std::size_t r) const { return scores_ + r * score_stride_; }

  void take_rows(std::size_t queries, std::size_t begin, std::size_t end) const {
    const std::size_t steps = divide_up(end - begin, kPanel);
    ConvertRows<1>({scores_ + begin, queries, end - begin, score_stride_}, probs_, steps * kPanel);
  }
  void take_probs(std::size_t r, std::size_t key, V32 e) const { StoreParts<1>(e.raw, TiledAt<1>(probs_, r, key)); }

  void scores(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end) const {
    ConvertRows<1>(rows_.query.rows_of(first, queries), queries_, column_steps_ * kPanel);
    for (std::size_t panel = begin / kPanel; panel * kPanel < end; ++panel) {
      MultiplyBlock<PartProducts<1>>({queries_.data, keys_ + panel * column_steps_ * kPartsBytes<1>, column_steps_,
                                      scores_ + panel * kPanel, score_stride_, false},
                                     queries, {});
    }
  }

  void context(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end,
               const float* inverse_sums) const {
    const std::size_t first_step = begin / kPanel;
    const std::size_t steps = divide_up(end - begin, kPanel);
    for (std::size_t panel = 0; panel < column_steps_; ++panel) {
      MultiplyBlock<PartProducts<1>>(
          {probs_.data, values_ + (panel * key_panels_ + first_step) * kPartsBytes<1>, steps, context_, kPanel, false},
          queries, {});
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

void AttendHeadTiles(const AttentionCall& call, std::size_t input, std::size_t head, const HeadRows& rows,
                     TileScratch& scratch) {
  if (ClearAblated(call, head, rows.context)) return;
  AttendHead(call, input, head, TileProducts(rows, scratch));
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#define MHA_HAS_AMX_ATTENTION 1
namespace mha::native {
namespace amx = mha::HWY_NAMESPACE;
}
#endif

#if HWY_ONCE
namespace mha::native {

#ifdef MHA_HAS_AMX_ATTENTION

bool has_attention_amx(Precision precision) {
  return (precision == Precision::bf16 || precision == Precision::int8) && cpu_features().amx_bf16;
}

AttentionTiles::AttentionTiles() { amx::BeginTiles(); }
AttentionTiles::~AttentionTiles() { amx::EndTiles(); }

void AttentionTiles::attend_head(const AttentionCall& call, std::size_t input, std::size_t head,
                                 const HeadRows& rows) const {
  // One tile of queries.
  constexpr std::size_t kShortest = 17;
  thread_local amx::TileScratch scratch;
  if (rows.query.rows < kShortest) {
    attend_head_f32(call, input, head, rows);
  } else {
    amx::AttendHeadTiles(call, input, head, rows, scratch);
  }
}

#else

bool has_attention_amx(Precision) { return false; }

AttentionTiles::AttentionTiles() = default;
AttentionTiles::~AttentionTiles() = default;

void AttentionTiles::attend_head(const AttentionCall& call, std::size_t input, std::size_t head,
                                 const HeadRows& rows) const {
  attend_head_f32(call, input, head, rows);
}

#endif

}  // namespace mha::native
#endif
