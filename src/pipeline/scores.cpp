#include "pipeline/scores.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mha {

std::vector<float> softmax_of(std::span<const float> logits) {
  std::vector<float> result(logits.size());
  if (logits.empty()) return result;
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  for (std::size_t i = 0; i < logits.size(); ++i)
    result[i] = static_cast<float>(std::exp(double{logits[i]} - top) / sum);
  return result;
}

float sigmoid_of(float logit) { return static_cast<float>(1 / (1 + std::exp(-double{logit}))); }

std::vector<std::size_t> largest(std::span<const float> values, std::size_t count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  count = std::min(count, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](std::size_t a, std::size_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  order.resize(count);
  return order;
}

std::size_t first_largest(std::span<const float> values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

std::vector<TokenSpan> best_spans(std::span<const float> start, std::span<const float> end,
                                  const std::vector<bool>& counted, const std::vector<bool>& allowed,
                                  std::size_t longest, std::size_t count) {
  const auto probabilities = [&](std::span<const float> logits) {
    std::vector<float> kept;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (counted[i]) kept.push_back(logits[i]);
    }
    kept = softmax_of(kept);
    std::vector<float> all(logits.size(), 0.0F);
    for (std::size_t i = 0, next = 0; i < logits.size(); ++i) {
      if (counted[i]) all[i] = kept[next++];
    }
    return all;
  };
  const std::vector<float> begins = probabilities(start);
  const std::vector<float> ends = probabilities(end);
  std::vector<TokenSpan> best;  // best first, at most `count`
  const auto better = [](const TokenSpan& a, const TokenSpan& b) { return a.score > b.score; };
  for (std::size_t first = 0; first < start.size(); ++first) {
    if (!allowed[first]) continue;
    for (std::size_t last = first; last < end.size() && last - first < longest; ++last) {
      if (!allowed[last]) continue;
      const TokenSpan span{first, last, begins[first] * ends[last]};
      if (best.size() == count && !better(span, best.back())) continue;
      best.insert(std::upper_bound(best.begin(), best.end(), span, better), span);
      if (best.size() > count) best.pop_back();
    }
  }
  return best;
}

}  // namespace mha
