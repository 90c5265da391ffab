// One head of attention over blocks of queries, for any kind of product. A file whose products need more than Highway's
// level defines MHA_BEFORE_ATTENTION, which begins the region of its level.
#if defined(MHA_OPS_ATTENTION_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MHA_OPS_ATTENTION_INL_HPP
#undef MHA_OPS_ATTENTION_INL_HPP
#else
#define MHA_OPS_ATTENTION_INL_HPP
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention.hpp"
#include "ops/math-inl.hpp"

#ifndef MHA_BEFORE_ATTENTION
#define MHA_BEFORE_ATTENTION HWY_BEFORE_NAMESPACE
#endif

MHA_BEFORE_ATTENTION();
namespace mha {
namespace HWY_NAMESPACE {

/// factor · max x[i], for any sign of the factor.
HWY_INLINE float MaxOfScaled(float factor, const float* x, std::size_t count) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  const V32 sign = hn::Set(d, factor < 0.0F ? -1.0F : 1.0F);
  const V32 lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  V32 top = lowest;
  V32 other = lowest;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    top = hn::Max(top, hn::Mul(sign, hn::LoadU(d, x + i)));
    other = hn::Max(other, hn::Mul(sign, hn::LoadU(d, x + i + lanes)));
  }
  for (; i + lanes <= count; i += lanes) top = hn::Max(top, hn::Mul(sign, hn::LoadU(d, x + i)));
  if (i < count) {
    const V32 rest = hn::Mul(sign, LoadRest(d, x + i, count - i));
    top = hn::Max(top, hn::IfThenElse(hn::FirstN(d, count - i), rest, lowest));
  }
  return std::abs(factor) * LaneMax(d, hn::Max(top, other));
}

/// e^(factor·x − max) of one query's scores, max the largest of factor·x; returns the sum. `exponential(d, x)` is e^x
/// for x ≤ 0; `store(i, value, rest)` takes the vector of element i, of which `rest` are there where it is not 0 (the
/// others are zero).
template <class Exponential, class Store>
HWY_INLINE float ExpOfRow(float factor, const float* x, std::size_t count, const Exponential& exponential,
                          const Store& store) {
  const F32 d;
  const WideF32 wide;
  const std::size_t lanes = hn::Lanes(d);
  const float max = MaxOfScaled(factor, x, count);
  V32 sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kWide * lanes <= count; i += kWide * lanes) {
    const Wide e = exponential(wide, MulSub(Set(wide, factor), LoadWide(x + i), Set(wide, max)));
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kWide; ++j) store(i + j * lanes, e.v[j], std::size_t{0});
    sum = hn::Add(sum, hn::Add(hn::Add(e.v[0], e.v[1]), hn::Add(e.v[2], e.v[3])));
  }
  const V32 factors = hn::Set(d, factor);
  const V32 top = hn::Set(d, max);
  for (; i + lanes <= count; i += lanes) {
    const V32 e = exponential(d, hn::MulSub(factors, hn::LoadU(d, x + i), top));
    store(i, e, std::size_t{0});
    sum = hn::Add(sum, e);
  }
  if (i < count) {
    const std::size_t rest = count - i;
    const V32 shifted = hn::MulSub(factors, LoadRest(d, x + i, rest), top);
    const V32 e = hn::IfThenElseZero(hn::FirstN(d, rest), exponential(d, shifted));
    store(i, e, rest);
    sum = hn::Add(sum, e);
  }
  return LaneSum(d, sum);
}

HWY_INLINE void ScaleInto(float factor, const float* x, float* y, std::size_t count) {
  const F32 d;
  const V32 f = hn::Set(d, factor);
  Transform(d, y, count, [&](auto load, std::size_t i) { return hn::Mul(f, load(x + i)); });
}

/// One head of one input. `Products` is made for the head's keys and values, and has
///   kQueries                  queries a block
///   kKeyUnit                  keys are seen in whole units from a multiple of it
///   scores(first, queries, begin, end)    q·k of the block for keys [begin, end) into score_row(r) + begin
///   score_row(r)              scores of query r of the block, by key; aligned
///   exponential(d, x)         e^x for x ≤ 0
///   take_rows(queries, begin, end)        the probabilities of the block stand in the score rows
///   kDirect, take_probs(r, i, e)          or they come vector by vector, from key i on
///   context(first, queries, begin, end, inverse_sums)   Σ probability·v over the keys, times inverse_sums[r], written
///   out
/// What a query sees and the order of its sums depend on its input alone, and not on what is captured.
template <class Products>
HWY_INLINE void AttendHead(const AttentionCall& call, std::size_t input, std::size_t head, const Products& products) {
  const std::size_t row = call.row_begin[input];
  const std::size_t tokens = call.row_begin[input + 1] - row;
  const bool ablated = !call.ablated.empty() && call.ablated[head] != 0;
  const bool captured = captures_head(call, head);
  float inverse_sums[Products::kQueries];

  for (std::size_t first = 0; first < tokens; first += Products::kQueries) {
    const std::size_t queries = std::min(Products::kQueries, tokens - first);
    // Keys that some query of the block sees.
    std::size_t seen_begin = 0;
    std::size_t seen_end = tokens;
    if (call.window > 0) {
      seen_begin = first > call.window ? (first - call.window) / Products::kKeyUnit * Products::kKeyUnit : 0;
      seen_end = std::min(tokens, first + queries + call.window);
    }
    // A bias is added to whole rows, and a capture shows them.
    const bool whole = call.bias != nullptr || captured;
    const std::size_t begin = whole ? 0 : seen_begin;
    const std::size_t end = whole ? tokens : seen_end;
    products.scores(first, queries, begin, end);
    if (captured && call.scores != nullptr) {
      for_each_capture(call, head, [&](std::size_t place) {
        float* map = call.scores + call.capture_begin[input] + place * tokens * tokens;
        for (std::size_t r = 0; r < queries; ++r)
          std::copy_n(products.score_row(r), tokens, map + (first + r) * tokens);
      });
    }
    // Scores stay as they are and are scaled inside the exponential, unless a bias in scaled units comes in between.
    float factor = call.scale;
    if (call.bias != nullptr) {
      for (std::size_t r = 0; r < queries; ++r)
        ScaleInto(call.scale, products.score_row(r), products.score_row(r), tokens);
      const auto stride = static_cast<std::size_t>(products.score_row(1) - products.score_row(0));
      call.bias->add(row, head, first, queries, tokens, products.score_row(0), stride);
      factor = 1.0F;
    }
    // Products that take probabilities as they come need no second pass over them.
    const bool direct = Products::kDirect && call.window == 0 && !captured;
    for (std::size_t r = 0; r < queries; ++r) {
      float* line = products.score_row(r);
      const std::size_t place = first + r;
      std::size_t from = begin;
      std::size_t to = end;
      if (call.window > 0) {
        from = std::max(from, place > call.window ? place - call.window : 0);
        to = std::min(to, place + call.window + 1);
      }
      if (captured && call.scaled != nullptr) {
        for_each_capture(call, head, [&](std::size_t index) {
          float* target = call.scaled + call.capture_begin[input] + (index * tokens + place) * tokens;
          std::fill_n(target, tokens, -std::numeric_limits<float>::infinity());
          ScaleInto(factor, line + from, target + from, to - from);
        });
      }
      const auto exponential = [](auto d, const auto& x) { return Products::exponential(d, x); };
      float sum = 0.0F;
      if (direct) {
        sum = ExpOfRow(factor, line, tokens, exponential,
                       [&](std::size_t i, V32 e, std::size_t) { products.take_probs(r, i, e); });
      } else {
        std::fill(line + begin, line + from, 0.0F);
        std::fill(line + to, line + end, 0.0F);
        sum = ExpOfRow(factor, line + from, to - from, exponential, [&](std::size_t i, V32 e, std::size_t rest) {
          if (rest == 0) {
            hn::StoreU(e, F32(), line + from + i);
          } else {
            StoreRest(F32(), e, line + from + i, rest);
          }
        });
      }
      inverse_sums[r] = 1.0F / sum;
      if (captured && call.probs != nullptr) {
        for_each_capture(call, head, [&](std::size_t index) {
          float* target = call.probs + call.capture_begin[input] + (index * tokens + place) * tokens;
          ScaleInto(inverse_sums[r], line, target, tokens);
        });
      }
    }
    if (!ablated) {
      if (!direct) products.take_rows(queries, seen_begin, seen_end);
      products.context(first, queries, seen_begin, seen_end, inverse_sums);
    }
  }
}

/// Zeroes the context of an ablated head. Returns true if the head needs no further work.
HWY_INLINE bool ClearAblated(const AttentionCall& call, std::size_t head, const Matrix& context) {
  if (call.ablated.empty() || call.ablated[head] == 0) return false;
  for (std::size_t t = 0; t < context.rows; ++t) std::fill_n(context.row(t), context.cols, 0.0F);
  return !captures_head(call, head);
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#endif
