#include "ops/attention.hpp"

#include <algorithm>

#include "core/round_up.hpp"
#include "mha/core/error.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/attention-inl.hpp"

#ifndef MHA_OPS_ATTENTION_ONCE
#define MHA_OPS_ATTENTION_ONCE
namespace mha {

/// Scratch of one thread; grows to the longest input seen and is reused.
struct AttentionScratch {
  FloatBuffer key_columns;  // [d_head][padded keys]
  FloatBuffer value_rows;   // [keys][padded d_head]
  FloatBuffer scores;       // [kQueries][padded keys]
};

}  // namespace mha
#endif

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kRows = 8;
constexpr std::size_t kVectors = 3;
#else
constexpr std::size_t kRows = 4;
constexpr std::size_t kVectors = 2;
#endif

/// A block of Rows × Vectors lanes of C = A·B, everything row-major; B and C are padded to whole vectors. The terms of
/// an element are added in the order of k in every instantiation.
template <std::size_t Rows, std::size_t Vectors>
HWY_INLINE void ProductBlock(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride, float* c,
                             std::size_t c_stride, std::size_t depth) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  V32 sums[Rows][Vectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < depth; ++k) {
    V32 columns[Vectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, b + k * b_stride + v * lanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
      const V32 factor = hn::Set(d, a[r * a_stride + k]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < Vectors; ++v) sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) hn::StoreU(sums[r][v], d, c + r * c_stride + v * lanes);
  }
}

template <std::size_t Rows>
HWY_INLINE void ProductRows(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride, float* c,
                            std::size_t c_stride, std::size_t vectors, std::size_t depth) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t v = 0;
  for (; v + kVectors <= vectors; v += kVectors) {
    ProductBlock<Rows, kVectors>(a, a_stride, b + v * lanes, b_stride, c + v * lanes, c_stride, depth);
  }
  if (kVectors > 2 && v + 2 <= vectors) {
    ProductBlock<Rows, 2>(a, a_stride, b + v * lanes, b_stride, c + v * lanes, c_stride, depth);
    v += 2;
  }
  for (; v < vectors; ++v) {
    ProductBlock<Rows, 1>(a, a_stride, b + v * lanes, b_stride, c + v * lanes, c_stride, depth);
  }
}

/// C [rows, vectors · lanes] = A [rows, depth] · B [depth, vectors · lanes].
void Product(const float* a, std::size_t a_stride, const float* b, std::size_t b_stride, float* c, std::size_t c_stride,
             std::size_t rows, std::size_t vectors, std::size_t depth) {
  std::size_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    ProductRows<kRows>(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, vectors, depth);
  }
  for (; r + 2 <= rows; r += 2) {
    ProductRows<2>(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, vectors, depth);
  }
  for (; r < rows; ++r) {
    ProductRows<1>(a + r * a_stride, a_stride, b, b_stride, c + r * c_stride, c_stride, vectors, depth);
  }
}

/// Products in float32 on vector units.
class FloatProducts {
 public:
  static constexpr std::size_t kQueries = 16;
  static constexpr std::size_t kKeyUnit = HWY_MAX_BYTES / sizeof(float);
  static constexpr bool kDirect = false;
  template <class D, class V>
  static HWY_INLINE V exponential(D d, V x) {
    return Exp(d, x);
  }

  FloatProducts(const HeadRows& rows, AttentionScratch& scratch) : rows_(rows) {
    const std::size_t lanes = hn::Lanes(F32());
    const std::size_t tokens = rows.key.rows;
    const std::size_t width = rows.key.cols;
    key_stride_ = round_up(tokens, lanes);
    value_width_ = round_up(width, lanes);
    scratch.key_columns.reserve(width * key_stride_);
    scratch.value_rows.reserve(tokens * value_width_);
    scratch.scores.reserve(kQueries * key_stride_);
    columns_ = scratch.key_columns.data();
    values_ = scratch.value_rows.data();
    scores_ = scratch.scores.data();
    for (std::size_t first = 0; first < key_stride_; first += lanes) {
      const std::size_t present = std::min(lanes, tokens - first);
      const float* from = rows.key.row(first);
      for (std::size_t c = 0; c < width; ++c) {
        float* to = columns_ + c * key_stride_ + first;
        for (std::size_t t = 0; t < present; ++t) to[t] = from[t * rows.key.stride + c];
        std::fill(to + present, to + lanes, 0.0F);
      }
    }
    // Rows of a head lie a whole layer's width apart, each on its own page: read once, then used from one run of
    // memory.
    for (std::size_t t = 0; t < tokens; ++t) {
      std::copy_n(rows.value.row(t), width, values_ + t * value_width_);
      std::fill(values_ + t * value_width_ + width, values_ + (t + 1) * value_width_, 0.0F);
    }
  }

  float* score_row(std::size_t r) const { return scores_ + r * key_stride_; }

  void take_rows(std::size_t, std::size_t, std::size_t) const {}
  void take_probs(std::size_t, std::size_t, V32) const {}

  void scores(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end) const {
    const std::size_t lanes = hn::Lanes(F32());
    Product(rows_.query.row(first), rows_.query.stride, columns_ + begin, key_stride_, scores_ + begin, key_stride_,
            queries, divide_up(end - begin, lanes), rows_.query.cols);
  }

  void context(std::size_t first, std::size_t queries, std::size_t begin, std::size_t end,
               const float* inverse_sums) const {
    const std::size_t lanes = hn::Lanes(F32());
    const std::size_t width = rows_.context.cols;
    const std::size_t depth = end - begin;
    const float* values = values_ + begin * value_width_;
    const Matrix out = rows_.context.rows_of(first, queries);
    if (value_width_ == width) {
      Product(scores_ + begin, key_stride_, values, value_width_, out.data, out.stride, queries, width / lanes, depth);
    } else {
      HWY_ALIGN float padded[kQueries * HWY_MAX_BYTES / sizeof(float)];
      for (std::size_t c = 0; c < width; c += lanes) {
        Product(scores_ + begin, key_stride_, values + c, value_width_, padded, lanes, queries, 1, depth);
        for (std::size_t r = 0; r < queries; ++r)
          std::copy_n(padded + r * lanes, std::min(lanes, width - c), out.row(r) + c);
      }
    }
    for (std::size_t r = 0; r < queries; ++r) ScaleInto(inverse_sums[r], out.row(r), out.row(r), width);
  }

 private:
  const HeadRows& rows_;
  float* columns_ = nullptr;
  float* values_ = nullptr;
  float* scores_ = nullptr;
  std::size_t key_stride_ = 0;
  std::size_t value_width_ = 0;
};

void AttendHeadFloat(const AttentionCall& call, std::size_t input, std::size_t head, const HeadRows& rows,
                     AttentionScratch& scratch) {
  if (ClearAblated(call, head, rows.context)) return;
  if (rows.query.rows > 0) AttendHead(call, input, head, FloatProducts(rows, scratch));
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(AttendHeadFloat);

HeadRows rows_of_head(const AttentionCall& call, std::size_t input, std::size_t head) {
  const std::size_t row = call.row_begin[input];
  const std::size_t tokens = call.row_begin[input + 1] - row;
  const std::size_t kv_head = head / (call.n_heads / call.n_kv_heads);
  return {call.query.rows_of(row, tokens).cols_of(head * call.d_head, call.d_head),
          call.key.rows_of(row, tokens).cols_of(kv_head * call.d_head, call.d_head),
          call.value.rows_of(row, tokens).cols_of(kv_head * call.d_head, call.d_head),
          call.context.rows_of(row, tokens).cols_of(head * call.d_head, call.d_head)};
}

void check_unprojected(const AttentionCall& call) {
  const std::size_t inputs = call.row_begin.empty() ? 0 : call.row_begin.size() - 1;
  const std::size_t rows = inputs == 0 ? 0 : call.row_begin[inputs];
  const bool heads_fit = call.n_kv_heads > 0 && call.n_heads % call.n_kv_heads == 0 && call.d_head > 0;
  const bool context_fits = call.context.rows >= rows && call.context.cols == call.n_heads * call.d_head;
  const bool wants = call.scores != nullptr || call.scaled != nullptr || call.probs != nullptr;
  const bool ablation_fits = call.ablated.empty() || call.ablated.size() == call.n_heads;
  const bool capture_fits = !wants || call.capture_begin.size() >= inputs;
  if (!heads_fit || !context_fits || !ablation_fits || !capture_fits) {
    throw_internal("attention: shapes of the call do not fit together");
  }
}

void check_attention(const AttentionCall& call) {
  check_unprojected(call);
  const std::size_t rows = call.row_begin.empty() ? 0 : call.row_begin.back();
  const std::size_t kv_width = call.n_kv_heads * call.d_head;
  const bool rows_fit = call.query.rows >= rows && call.key.rows >= rows && call.value.rows >= rows;
  const bool cols_fit =
      call.query.cols == call.context.cols && call.key.cols == kv_width && call.value.cols == kv_width;
  if (!rows_fit || !cols_fit) throw_internal("attention: shapes of the call do not fit together");
}

bool captures_head(const AttentionCall& call, std::size_t head) {
  if (call.scores == nullptr && call.scaled == nullptr && call.probs == nullptr) return false;
  return std::find(call.capture_heads.begin(), call.capture_heads.end(), head) != call.capture_heads.end();
}

void for_each_head_run(const AttentionCall& call, Executor* executor,
                       const std::function<void(std::size_t, std::size_t)>& run) {
  const std::size_t inputs = call.row_begin.empty() ? 0 : call.row_begin.size() - 1;
  const std::size_t total = inputs * call.n_heads;
  const std::size_t threads = executor == nullptr ? 1 : executor->threads();
  // Several runs a thread, so that long inputs do not leave the others waiting.
  constexpr std::size_t kRunsPerThread = 6;
  const std::size_t runs = threads == 1 ? std::min<std::size_t>(total, 1) : std::min(total, threads * kRunsPerThread);
  parallel_for(executor, runs, [&](std::size_t i) { run(total * i / runs, total * (i + 1) / runs); });
}

void for_each_head(const AttentionCall& call, Executor* executor,
                   const std::function<void(std::size_t, std::size_t)>& piece) {
  for_each_head_run(call, executor, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) piece(i / call.n_heads, i % call.n_heads);
  });
}

void attend_head_f32(const AttentionCall& call, std::size_t input, std::size_t head, const HeadRows& rows) {
  thread_local AttentionScratch scratch;
  HWY_DYNAMIC_DISPATCH(AttendHeadFloat)(call, input, head, rows, scratch);
}

void attention_f32(const AttentionCall& call, Executor* executor) {
  for_each_head(call, executor, [&](std::size_t input, std::size_t head) {
    attend_head_f32(call, input, head, rows_of_head(call, input, head));
  });
}

}  // namespace mha
#endif
