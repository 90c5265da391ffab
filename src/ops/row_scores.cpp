#include "ops/row_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/row_scores.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "ops/math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mha {
namespace HWY_NAMESPACE {

void ScoreF32(const float* query, std::size_t width, const float* rows, std::size_t count, float* scores) {
  const F32 d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t r = 0; r < count; ++r) {
    const float* row = rows + r * width;
    V32 a = hn::Zero(d), b = a, c = a, e = a;
    std::size_t i = 0;
    for (; i + 4 * lanes <= width; i += 4 * lanes) {
      a = hn::MulAdd(hn::LoadU(d, row + i), hn::LoadU(d, query + i), a);
      b = hn::MulAdd(hn::LoadU(d, row + i + lanes), hn::LoadU(d, query + i + lanes), b);
      c = hn::MulAdd(hn::LoadU(d, row + i + 2 * lanes), hn::LoadU(d, query + i + 2 * lanes), c);
      e = hn::MulAdd(hn::LoadU(d, row + i + 3 * lanes), hn::LoadU(d, query + i + 3 * lanes), e);
    }
    for (; i + lanes <= width; i += lanes) a = hn::MulAdd(hn::LoadU(d, row + i), hn::LoadU(d, query + i), a);
    if (i < width) a = hn::MulAdd(LoadRest(d, row + i, width - i), LoadRest(d, query + i, width - i), a);
    scores[r] = LaneSum(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
  }
}

// `query` holds the codes as 16-bit numbers: pairs of products are summed into 32 bits without overflow.
void ScoreInt8(const std::int16_t* query, float query_scale, std::size_t width, const std::int8_t* rows,
               std::size_t count, float* scores) {
  const hn::ScalableTag<std::int16_t> d16;
  const hn::Rebind<std::int8_t, decltype(d16)> d8;
  const hn::RepartitionToWide<decltype(d16)> d32;
  const std::size_t lanes = hn::Lanes(d16);
  const std::size_t stride = sizeof(float) + width;
  for (std::size_t r = 0; r < count; ++r) {
    float scale;
    std::memcpy(&scale, rows + r * stride, sizeof scale);
    const std::int8_t* row = rows + r * stride + sizeof scale;
    auto low = hn::Zero(d32), high = low, low2 = low, high2 = low;
    std::size_t i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
      low = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::LoadU(d8, row + i)), hn::LoadU(d16, query + i),
                                          low, high);
      low2 = hn::ReorderWidenMulAccumulate(d32, hn::PromoteTo(d16, hn::LoadU(d8, row + i + lanes)),
                                           hn::LoadU(d16, query + i + lanes), low2, high2);
    }
    const auto sums = hn::Add(hn::Add(low, high), hn::Add(low2, high2));
    std::int32_t sum = hn::GetLane(hn::SumOfLanes(d32, sums));
    for (; i < width; ++i) sum += std::int32_t{query[i]} * row[i];
    scores[r] = query_scale * scale * static_cast<float>(sum);
  }
}

void ScoreBinary(const std::uint64_t* query, std::size_t width, const std::byte* rows, std::size_t count,
                 float* scores) {
  const std::size_t words = (width + 63) / 64;
  const float step = -2.0F / static_cast<float>(width);
  for (std::size_t r = 0; r < count; ++r) {
    const std::byte* row = rows + r * words * 8;
    int differ = 0;
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t bits;
      std::memcpy(&bits, row + w * 8, sizeof bits);
      differ += __builtin_popcountll(bits ^ query[w]);
    }
    scores[r] = 1.0F + step * static_cast<float>(differ);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mha
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mha {

HWY_EXPORT(ScoreF32);
HWY_EXPORT(ScoreInt8);
HWY_EXPORT(ScoreBinary);

void score_f32(std::span<const float> query, const std::byte* rows, std::size_t count, float* scores) {
  HWY_DYNAMIC_DISPATCH(ScoreF32)
  (query.data(), query.size(), reinterpret_cast<const float*>(rows), count, scores);
}

CodedVector code_int8(std::span<const float> vector) {
  constexpr float kLargestCode = 127.0F;
  CodedVector coded;
  coded.codes.resize(vector.size());
  float largest = 0;
  for (const float value : vector) largest = std::max(largest, std::fabs(value));
  if (largest == 0) return coded;
  coded.scale = largest / kLargestCode;
  const double factor = double{kLargestCode} / double{largest};
  for (std::size_t i = 0; i < vector.size(); ++i) {
    coded.codes[i] = static_cast<std::int8_t>(std::lrint(double{vector[i]} * factor));
  }
  return coded;
}

void write_int8_row(std::span<const float> vector, std::byte* row) {
  const CodedVector coded = code_int8(vector);
  std::memcpy(row, &coded.scale, sizeof coded.scale);
  std::memcpy(row + sizeof coded.scale, coded.codes.data(), coded.codes.size());
}

void score_int8(const CodedVector& query, const std::byte* rows, std::size_t count, float* scores) {
  const std::vector<std::int16_t> wide(query.codes.begin(), query.codes.end());
  HWY_DYNAMIC_DISPATCH(ScoreInt8)
  (wide.data(), query.scale, wide.size(), reinterpret_cast<const std::int8_t*>(rows), count, scores);
}

void write_binary_row(std::span<const float> vector, std::byte* row) {
  for (std::size_t word = 0; word * 64 < vector.size(); ++word) {
    std::uint64_t bits = 0;
    const std::size_t end = std::min(vector.size(), word * 64 + 64);
    for (std::size_t i = word * 64; i < end; ++i) bits |= std::uint64_t{vector[i] > 0} << (i % 64);
    std::memcpy(row + word * 8, &bits, sizeof bits);
  }
}

void score_binary(std::span<const std::byte> query, std::size_t width, const std::byte* rows, std::size_t count,
                  float* scores) {
  std::vector<std::uint64_t> words(query.size() / 8);
  std::memcpy(words.data(), query.data(), query.size());
  HWY_DYNAMIC_DISPATCH(ScoreBinary)(words.data(), width, rows, count, scores);
}

}  // namespace mha
#endif
