#include "mha/analysis/head_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "mha/core/error.hpp"
#include "ops/vector.hpp"

namespace mha {

void HeadStatisticsSum::add(const AttentionMaps& maps, bool hide_specials) {
  const std::size_t heads = maps.layer_count * maps.head_count;
  if (sums_.empty()) {
    for (std::size_t layer = 0; layer < maps.layer_count; ++layer) {
      for (std::size_t head = 0; head < maps.head_count; ++head) {
        Sums sums;
        sums.layer = maps.layers.empty() ? layer : maps.layers[layer];
        sums.head = maps.heads.empty() ? head : maps.heads[head];
        sums_.push_back(sums);
      }
    }
  }
  if (sums_.size() != heads) throw_internal("head statistics: inputs with different numbers of heads");

  const std::size_t tokens = maps.tokens();
  std::vector<float> special(tokens);
  for (std::size_t k = 0; k < tokens; ++k) special[k] = maps.labels[k].special ? 1.0F : 0.0F;
  std::vector<float> distances(2 * tokens);  // |i − tokens|: a query's distances to its keys begin at tokens − query
  for (std::size_t k = 0; k < distances.size(); ++k)
    distances[k] = static_cast<float>(k > tokens ? k - tokens : tokens - k);
  for (std::size_t i = 0; i < heads; ++i) {
    Sums& sums = sums_[i];
    const float* map = maps.weights.data() + i * tokens * tokens;
    for (std::size_t q = 0; q < tokens; ++q) {
      if (hide_specials && maps.labels[q].special) continue;
      const float* row = map + q * tokens;
      sums.entropy += static_cast<double>(entropy(row, tokens));
      sums.special += static_cast<double>(dot(row, special.data(), tokens));
      sums.distance += static_cast<double>(dot(row, distances.data() + tokens - q, tokens));
      sums.self += static_cast<double>(row[q]);
      sums.first += static_cast<double>(row[0]);
      if (q > 0) {
        sums.previous += static_cast<double>(row[q - 1]);
        ++sums.with_previous;
      }
      if (q + 1 < tokens) {
        sums.next += static_cast<double>(row[q + 1]);
        ++sums.with_next;
      }
      ++sums.tokens;
    }
  }
}

void HeadStatisticsSum::add(const HeadStatisticsSum& other) {
  if (other.sums_.empty()) return;
  if (sums_.empty()) {
    sums_ = other.sums_;
    return;
  }
  if (sums_.size() != other.sums_.size()) throw_internal("head statistics: sums with different numbers of heads");
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    Sums& to = sums_[i];
    const Sums& from = other.sums_[i];
    to.entropy += from.entropy;
    to.self += from.self;
    to.previous += from.previous;
    to.next += from.next;
    to.first += from.first;
    to.special += from.special;
    to.distance += from.distance;
    to.tokens += from.tokens;
    to.with_previous += from.with_previous;
    to.with_next += from.with_next;
  }
}

std::vector<HeadStatistics> HeadStatisticsSum::means() const {
  std::vector<HeadStatistics> result;
  result.reserve(sums_.size());
  for (const Sums& sums : sums_) {
    const auto mean = [](double sum, std::size_t count) { return count > 0 ? sum / static_cast<double>(count) : 0.0; };
    HeadStatistics head;
    head.layer = sums.layer;
    head.head = sums.head;
    head.entropy = mean(sums.entropy, sums.tokens);
    head.self = mean(sums.self, sums.tokens);
    head.previous = mean(sums.previous, sums.with_previous);
    head.next = mean(sums.next, sums.with_next);
    head.first = mean(sums.first, sums.tokens);
    head.special = mean(sums.special, sums.tokens);
    head.distance = mean(sums.distance, sums.tokens);
    head.tokens = sums.tokens;
    result.push_back(head);
  }
  return result;
}

double jensen_shannon_distance(const float* a, const float* b, std::size_t tokens) {
  if (tokens == 0) return 0;
  double total = 0;
  for (std::size_t q = 0; q < tokens; ++q) {
    double divergence = 0;
    for (std::size_t k = 0; k < tokens; ++k) {
      const auto p = static_cast<double>(a[q * tokens + k]);
      const auto r = static_cast<double>(b[q * tokens + k]);
      const double middle = 0.5 * (p + r);
      if (p > 0) divergence += 0.5 * p * std::log2(p / middle);
      if (r > 0) divergence += 0.5 * r * std::log2(r / middle);
    }
    total += std::sqrt(std::clamp(divergence, 0.0, 1.0));
  }
  return total / static_cast<double>(tokens);
}

}  // namespace mha
