#include "encoder/score_bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "encoder/scratch.hpp"
#include "ops/vector.hpp"

namespace mha {

std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance) {
  const std::size_t half = buckets / 2;
  const std::size_t side = distance > 0 ? half : 0;
  const auto magnitude = static_cast<std::size_t>(distance < 0 ? -distance : distance);
  const std::size_t exact = half / 2;
  if (magnitude < exact) return side + magnitude;
  const float ratio = std::log(static_cast<float>(magnitude) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const auto steps = static_cast<std::size_t>(ratio * static_cast<float>(half - exact));
  return side + std::min(exact + steps, half - 1);
}

std::int64_t log_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance) {
  const auto mid = static_cast<std::int64_t>(buckets / 2);
  const std::int64_t magnitude = distance < 0 ? -distance : distance;
  if (buckets == 0 || magnitude <= mid) return distance;
  const float top = std::log(static_cast<float>(static_cast<double>(max_distance - 1) / static_cast<double>(mid)));
  const float position = std::log(static_cast<float>(magnitude) / static_cast<float>(mid)) / top;
  const auto bucket = static_cast<std::int64_t>(std::ceil(position * static_cast<float>(mid - 1))) + mid;
  return distance < 0 ? -bucket : bucket;
}

std::vector<float> alibi_slopes(std::size_t n_heads) {
  std::size_t power = 1;
  while (2 * power <= n_heads) power *= 2;
  std::vector<float> slopes;
  for (std::size_t head = 0; head < n_heads; ++head) {
    const double exponent = head < power
                                ? 8.0 * static_cast<double>(head + 1) / static_cast<double>(power)
                                : 4.0 * static_cast<double>(2 * (head - power) + 1) / static_cast<double>(power);
    slopes.push_back(static_cast<float>(std::pow(2.0, -exponent)));
  }
  return slopes;
}

void DistanceBias::reserve(std::size_t n_heads, std::size_t rows,
                           const std::function<float(std::size_t, std::int64_t)>& bias) {
  if (rows <= rows_) return;
  rows_ = std::max({rows, 2 * rows_, std::size_t{64}});
  const std::size_t width = 2 * rows_ - 1;
  lines_.reserve(n_heads * width);
  for (std::size_t head = 0; head < n_heads; ++head) {
    for (std::size_t i = 0; i < width; ++i) {
      lines_.data()[head * width + i] = bias(head, static_cast<std::int64_t>(i) - static_cast<std::int64_t>(rows_ - 1));
    }
  }
}

void DistanceBias::add(std::size_t, std::size_t head, std::size_t query_begin, std::size_t queries, std::size_t keys,
                       float* scores, std::size_t stride) const {
  const float* line = lines_.data() + head * (2 * rows_ - 1);
  for (std::size_t r = 0; r < queries; ++r) mha::add(line + (rows_ - 1) - (query_begin + r), scores + r * stride, keys);
}

void RelativeRows::reserve(const PositionConfig::Disentangled& config, std::size_t longest) {
  if (longest <= length) return;
  length = std::max(longest, 2 * length);
  const auto span = static_cast<std::int64_t>(config.span());
  const auto row = [&](std::int64_t distance) {
    return static_cast<std::size_t>(
        std::clamp(log_bucket(distance, config.buckets, config.max_distance) + span, std::int64_t{0}, 2 * span - 1));
  };
  const auto reach = static_cast<std::int64_t>(length) - 1;
  first = row(-reach);  // buckets do not fall as distances grow
  count = row(reach) - first + 1;
  of_distance.clear();
  for (std::int64_t distance = -reach; distance <= reach; ++distance) {
    of_distance.push_back(static_cast<std::uint32_t>(row(distance) - first));
  }
}

void DisentangledBias::add(std::size_t row, std::size_t head, std::size_t query_begin, std::size_t queries,
                           std::size_t keys, float* scores, std::size_t stride) const {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  const std::size_t column = head * d_head;
  const auto table_row = [&](std::size_t q, std::size_t k) { return (*row_of_distance)[q + (length - 1) - k]; };
  // Neighbouring distances share a bucket, so a product is computed once for a run of them.
  if (position_key.data != nullptr) {
    for (std::size_t r = 0; r < queries; ++r) {
      const float* q = query.row(row + query_begin + r) + column;
      std::uint32_t last = kNone;
      float term = 0.0F;
      for (std::size_t k = 0; k < keys; ++k) {
        const std::uint32_t at = table_row(query_begin + r, k);
        if (at != last) term = dot(q, position_key.row(at) + column, d_head);
        last = at;
        scores[r * stride + k] += term;
      }
    }
  }
  if (position_query.data != nullptr) {
    for (std::size_t k = 0; k < keys; ++k) {
      const float* key_vector = key.row(row + k) + column;
      std::uint32_t last = kNone;
      float term = 0.0F;
      for (std::size_t r = 0; r < queries; ++r) {
        const std::uint32_t at = table_row(query_begin + r, k);
        if (at != last) term = dot(key_vector, position_query.row(at) + column, d_head);
        last = at;
        scores[r * stride + k] += term;
      }
    }
  }
}

}  // namespace mha
