#include "ops/attention.hpp"

#include <algorithm>
#include <limits>

#include "mha/core/error.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/attention.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

#ifndef MHA_OPS_ATTENTION_ONCE
#define MHA_OPS_ATTENTION_ONCE
namespace mha {

/// Scratch of one thread; grows to the longest input seen and is reused.
struct AttentionScratch {
  FloatBuffer key_columns;  ///< [d_head][padded keys]
  FloatBuffer value_rows;   ///< [keys][padded d_head]
  FloatBuffer scores;       ///< [kQueryBlock][padded keys]
};

constexpr std::size_t kQueryBlock = 16;

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

/// Row by row of one query's scores: e^(x − max) in place; returns the sum.
float ExpOfRow(float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const V32 lowest = hn::Set(d, hwy::LowestValue<float>());
  V32 top = lowest;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) top = hn::Max(top, hn::LoadU(d, x + i));
  if (i < count) top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, count - i), LoadRest(d, x + i, count - i), lowest));
  const V32 max = hn::Set(d, LaneMax(d, top));
  V32 sum = hn::Zero(d);
  i = 0;
  for (; i + lanes <= count; i += lanes) {
    const V32 e = Exp(d, hn::Sub(hn::LoadU(d, x + i), max));
    hn::StoreU(e, d, x + i);
    sum = hn::Add(sum, e);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    const V32 e = hn::IfThenElseZero(hn::FirstN(d, rest), Exp(d, hn::Sub(LoadRest(d, x + i, rest), max)));
    StoreRest(d, e, x + i, rest);
    sum = hn::Add(sum, e);
  }
  return LaneSum(d, sum);
}

void ScaleInto(float factor, const float* x, float* y, std::size_t count) {
  const F32 d;
  const V32 f = hn::Set(d, factor);
  Transform(d, y, count, [&](auto load, std::size_t i) { return hn::Mul(f, load(x + i)); });
}

/// One head of one input.
void AttendHead(const AttentionCall& call, std::size_t input, std::size_t head, AttentionScratch& scratch) {
  const std::size_t lanes = hn::Lanes(F32());
  const std::size_t row = call.row_begin[input];
  const std::size_t tokens = call.row_begin[input + 1] - row;
  const std::size_t width = call.d_head;
  const std::size_t kv_head = head / (call.n_heads / call.n_kv_heads);
  const float* query = call.query.row(row) + head * width;
  const float* key = call.key.row(row) + kv_head * width;
  const float* value = call.value.row(row) + kv_head * width;
  float* context = call.context.row(row) + head * width;
  const bool ablated = !call.ablated.empty() && call.ablated[head] != 0;
  const bool captured = captures_head(call, head);
  if (ablated) {
    for (std::size_t t = 0; t < tokens; ++t) std::fill_n(context + t * call.context.stride, width, 0.0F);
    if (!captured) return;
  }

  const std::size_t key_vectors = (tokens + lanes - 1) / lanes;
  const std::size_t key_stride = key_vectors * lanes;
  scratch.key_columns.reserve(width * key_stride);
  scratch.scores.reserve(kQueryBlock * key_stride);
  float* columns = scratch.key_columns.data();
  float* scores = scratch.scores.data();
  for (std::size_t first = 0; first < key_stride; first += lanes) {
    const std::size_t present = std::min(lanes, tokens - first);
    const float* rows = key + first * call.key.stride;
    for (std::size_t c = 0; c < width; ++c) {
      float* to = columns + c * key_stride + first;
      for (std::size_t t = 0; t < present; ++t) to[t] = rows[t * call.key.stride + c];
      std::fill(to + present, to + lanes, 0.0F);
    }
  }
  const std::size_t value_vectors = (width + lanes - 1) / lanes;
  const std::size_t value_width = value_vectors * lanes;
  std::size_t value_stride = call.value.stride;
  const bool whole_vectors = value_width == width;
  if (!whole_vectors) {
    scratch.value_rows.reserve(tokens * value_width);
    float* packed = scratch.value_rows.data();
    for (std::size_t t = 0; t < tokens; ++t) {
      std::copy_n(value + t * value_stride, width, packed + t * value_width);
      std::fill(packed + t * value_width + width, packed + (t + 1) * value_width, 0.0F);
    }
    value = packed;
    value_stride = value_width;
  }
  HWY_ALIGN float padded_context[kQueryBlock * HWY_MAX_BYTES / sizeof(float)];

  for (std::size_t first = 0; first < tokens; first += kQueryBlock) {
    const std::size_t queries = std::min(kQueryBlock, tokens - first);
    // Keys that some query of the block sees; a bias or a capture wants all of them.
    std::size_t begin = 0;
    std::size_t end = tokens;
    if (call.window > 0 && call.bias == nullptr && !captured) {
      begin = first > call.window ? (first - call.window) / lanes * lanes : 0;
      end = std::min(tokens, first + queries + call.window);
    }
    const std::size_t seen_vectors = (end - begin + lanes - 1) / lanes;
    Product(query + first * call.query.stride, call.query.stride, columns + begin, key_stride, scores + begin, key_stride,
            queries, seen_vectors, width);
    const auto capture = [&](float* target) {
      if (target == nullptr) return;
      for_each_capture(call, head, [&](std::size_t place) {
        float* map = target + call.capture_begin[input] + place * tokens * tokens;
        for (std::size_t r = 0; r < queries; ++r) {
          std::copy_n(scores + r * key_stride, tokens, map + (first + r) * tokens);
        }
      });
    };
    if (captured) capture(call.scores);
    for (std::size_t r = 0; r < queries; ++r) {
      float* line = scores + r * key_stride;
      ScaleInto(call.scale, line + begin, line + begin, end - begin);
    }
    if (call.bias != nullptr) call.bias->add(row, head, first, queries, tokens, scores, key_stride);

    float inverse_sums[kQueryBlock];
    for (std::size_t r = 0; r < queries; ++r) {
      float* line = scores + r * key_stride;
      const std::size_t place = first + r;
      std::size_t from = begin;
      std::size_t to = end;
      if (call.window > 0) {
        from = std::max(from, place > call.window ? place - call.window : 0);
        to = std::min(to, place + call.window + 1);
        const float outside = captured && call.scaled != nullptr ? -std::numeric_limits<float>::infinity() : 0.0F;
        std::fill(line + begin, line + from, outside);
        std::fill(line + to, line + end, outside);
      }
      if (captured && call.scaled != nullptr) {
        for_each_capture(call, head, [&](std::size_t index) {
          std::copy_n(line, tokens, call.scaled + call.capture_begin[input] + (index * tokens + place) * tokens);
        });
        std::fill(line + begin, line + from, 0.0F);
        std::fill(line + to, line + end, 0.0F);
      }
      inverse_sums[r] = 1.0F / ExpOfRow(line + from, to - from);
      if (captured && call.probs != nullptr) {
        for_each_capture(call, head, [&](std::size_t index) {
          ScaleInto(inverse_sums[r], line, call.probs + call.capture_begin[input] + (index * tokens + place) * tokens,
                    tokens);
        });
      }
    }
    if (ablated) continue;

    // A window's sums start at the block's first key even when more is captured: the same terms in the same order.
    std::size_t product_begin = 0;
    std::size_t product_end = tokens;
    if (call.window > 0) {
      product_begin = first > call.window ? (first - call.window) / lanes * lanes : 0;
      product_end = std::min(tokens, first + queries + call.window);
    }
    const float* values = value + product_begin * value_stride;
    const std::size_t depth = product_end - product_begin;
    float* out = context + first * call.context.stride;
    const float* probs = scores + product_begin;
    if (whole_vectors) {
      Product(probs, key_stride, values, value_stride, out, call.context.stride, queries, value_vectors, depth);
    } else {
      for (std::size_t v = 0; v < value_vectors; ++v) {
        Product(probs, key_stride, values + v * lanes, value_stride, padded_context, lanes, queries, 1, depth);
        for (std::size_t r = 0; r < queries; ++r) {
          std::copy_n(padded_context + r * lanes, std::min(lanes, width - v * lanes),
                      out + r * call.context.stride + v * lanes);
        }
      }
    }
    for (std::size_t r = 0; r < queries; ++r) {
      float* line = out + r * call.context.stride;
      ScaleInto(inverse_sums[r], line, line, width);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(AttendHead);

void check_attention(const AttentionCall& call) {
  const std::size_t inputs = call.row_begin.empty() ? 0 : call.row_begin.size() - 1;
  const std::size_t rows = inputs == 0 ? 0 : call.row_begin[inputs];
  const bool heads_fit = call.n_kv_heads > 0 && call.n_heads % call.n_kv_heads == 0 && call.d_head > 0;
  const std::size_t width = call.n_heads * call.d_head;
  const std::size_t kv_width = call.n_kv_heads * call.d_head;
  const bool rows_fit = call.query.rows >= rows && call.key.rows >= rows && call.value.rows >= rows && call.context.rows >= rows;
  const bool cols_fit =
      call.query.cols == width && call.key.cols == kv_width && call.value.cols == kv_width && call.context.cols == width;
  const bool wants = call.scores != nullptr || call.scaled != nullptr || call.probs != nullptr;
  const bool ablation_fits = call.ablated.empty() || call.ablated.size() == call.n_heads;
  const bool capture_fits = !wants || call.capture_begin.size() >= inputs;
  if (!heads_fit || !rows_fit || !cols_fit || !ablation_fits || !capture_fits) {
    throw_internal("attention: shapes of the call do not fit together");
  }
}

bool captures_head(const AttentionCall& call, std::size_t head) {
  if (call.scores == nullptr && call.scaled == nullptr && call.probs == nullptr) return false;
  return std::find(call.capture_heads.begin(), call.capture_heads.end(), head) != call.capture_heads.end();
}

void for_each_head(const AttentionCall& call, Executor* executor,
                   const std::function<void(std::size_t, std::size_t)>& piece) {
  const std::size_t inputs = call.row_begin.empty() ? 0 : call.row_begin.size() - 1;
  const std::size_t total = inputs * call.n_heads;
  const std::size_t threads = executor == nullptr ? 1 : executor->threads();
  // Several runs a thread, so that long inputs do not leave the others waiting.
  constexpr std::size_t kRunsPerThread = 6;
  const std::size_t runs = threads == 1 ? std::min<std::size_t>(total, 1) : std::min(total, threads * kRunsPerThread);
  parallel_for(executor, runs, [&](std::size_t run) {
    for (std::size_t i = total * run / runs; i < total * (run + 1) / runs; ++i) piece(i / call.n_heads, i % call.n_heads);
  });
}

void attention_f32(const AttentionCall& call, Executor* executor) {
  for_each_head(call, executor, [&](std::size_t input, std::size_t head) {
    thread_local AttentionScratch scratch;
    HWY_DYNAMIC_DISPATCH(AttendHead)(call, input, head, scratch);
  });
}

}  // namespace mha
#endif
