#pragma once

#include <cstddef>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// What one head does, averaged over query tokens (Clark et al. 2019, §3). Shares lie in [0, 1].
struct HeadStatistics {
  std::size_t layer = 0;
  std::size_t head = 0;
  double entropy = 0;      ///< of the row, in bits
  double self = 0;         ///< weight on the token itself
  double previous = 0;     ///< on the token before; queries without one are left out of this mean
  double next = 0;         ///< on the token after; likewise
  double first = 0;        ///< on the input's first token
  double special = 0;      ///< on all added specials together
  double distance = 0;     ///< Σ w·|query − key|, in tokens
  std::size_t tokens = 0;  ///< query tokens that the means rest on
};

/// Sums the statistics of every head over any number of inputs; each query token weighs the same. Memory does not grow.
class HeadStatisticsSum {
 public:
  /// Heads of the first input decide how many there are; later ones must agree. With `hide_specials`, queries that are
  /// added specials are left out of the means (rows are not rescaled).
  void add(const AttentionMaps& maps, bool hide_specials);
  /// The sums of another worker.
  void add(const HeadStatisticsSum& other);
  /// One entry a head, in layer and head order.
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
