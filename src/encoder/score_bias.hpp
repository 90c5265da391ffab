#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "mha/core/tensor.hpp"
#include "mha/encoder/config.hpp"
#include "mha/ops/backend.hpp"

namespace mha {

/// Bucket of a distance key − query, in [0, buckets): both directions, one bucket a distance at first, then
/// logarithmic up to max_distance (Raffel et al. 2019; T5Attention._relative_position_bucket, whose float32 it
/// repeats).
std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance);

/// DeBERTa's signed bucket of a distance query − key (make_log_bucket_position); the distance itself if the model has
/// no log buckets.
std::int64_t log_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance);

/// Slopes of ALiBi's heads (Press et al. 2021): 2^(−8/n)·head for a power of two, and every other slope of the next
/// one.
std::vector<float> alibi_slopes(std::size_t n_heads);

/// A bias that depends on the head and on key − query alone: T5's and MPNet's buckets, ALiBi.
/// One line a head, [−(rows − 1), rows − 1], so that a query's row of terms is a piece of it.
class DistanceBias final : public ScoreBias {
 public:
  /// `bias(head, key − query)`.
  void reserve(std::size_t n_heads, std::size_t rows, const std::function<float(std::size_t, std::int64_t)>& bias);
  void add(std::size_t row, std::size_t head, std::size_t query_begin, std::size_t queries, std::size_t keys,
           float* scores, std::size_t stride) const override;

 private:
  std::size_t rows_ = 0;
  FloatBuffer lines_;
};

/// DeBERTa's content-to-position and position-to-content terms (He et al. 2020, §3.1): for δ = bucket(query − key),
/// Q·PKᵀ at row δ and K·PQᵀ at row δ of the projected relative table.
class DisentangledBias final : public ScoreBias {
 public:
  ConstMatrix query, key;  ///< [N, n_heads · d_head] of the batch
  ConstMatrix position_query,
      position_key;  ///< [rows, n_heads · d_head], scaled as the scores; data == nullptr: no such term
  std::size_t d_head = 0;
  /// Row of the tables for query − key = δ, at δ + (length − 1), for inputs up to `length`.
  const std::vector<std::uint32_t>* row_of_distance = nullptr;
  std::size_t length = 0;

  void add(std::size_t row, std::size_t head, std::size_t query_begin, std::size_t queries, std::size_t keys,
           float* scores, std::size_t stride) const override;
};

}  // namespace mha
