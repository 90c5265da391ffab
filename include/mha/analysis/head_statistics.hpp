#pragma once

#include <cstddef>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// Statistics of one head, averaged over query tokens (Clark et al. 2019, §3). Shares are in [0, 1].
struct HeadStatistics {
  std::size_t layer = 0;
  std::size_t head = 0;
  double entropy = 0;      ///< of the row, in bits
  double self = 0;         ///< weight on the token itself
  double previous = 0;     ///< on the token before; queries without one do not count
  double next = 0;         ///< on the token after; queries without one do not count
  double first = 0;        ///< on the input's first token
  double special = 0;      ///< on all added special tokens together
  double distance = 0;     ///< Σ w·|query − key|, in tokens
  std::size_t tokens = 0;  ///< number of query tokens
};

/// Sums the statistics of every head over any number of inputs; each query token weighs the same. Memory does not grow.
class HeadStatisticsSum {
 public:
  /// The first input decides the number of heads; later ones must have the same. With `hide_specials`, added special
  /// tokens do not count as queries (rows are not rescaled).
  void add(const AttentionMaps& maps, bool hide_specials);
  /// Adds the sums of another worker.
  void add(const HeadStatisticsSum& other);
  /// One entry per head, in layer and head order.
  std::vector<HeadStatistics> means() const;

 private:
  struct Sums {
    std::size_t layer = 0;
    std::size_t head = 0;
    double entropy = 0, self = 0, previous = 0, next = 0, first = 0, special = 0, distance = 0;
    std::size_t tokens = 0, with_previous = 0, with_next = 0;
  };
  std::vector<Sums> sums_;
};

/// Mean over queries of the Jensen-Shannon distance (square root of the divergence, base 2, in [0, 1]) between the rows
/// of two [tokens][tokens] maps.
double jensen_shannon_distance(const float* a, const float* b, std::size_t tokens);

}  // namespace mha
