#include "model/weight_count.hpp"

#include <set>
#include <string_view>

#include "model/families/family.hpp"

namespace mha {

WeightCount count_weights(const Weights& weights, const SentenceConfig& sentence) {
  WeightCount count;
  std::set<std::string_view> dtypes;
  const auto add = [&](const Weight& weight) {
    if (!weight.present()) return;
    count.parameters += weight.view.size();
    count.bytes += weight.view.bytes() + (weight.scale.data != nullptr ? weight.scale.bytes() : 0);
    dtypes.insert(name_of(weight.view.dtype));
  };
  for (const auto& [name, weight] : named_weights(weights)) add(*weight);
  for (const DenseModule& dense : sentence.dense) {
    add(dense.linear.weight);
    add(dense.linear.bias);
  }
  for (const std::string_view dtype : dtypes) count.dtype += (count.dtype.empty() ? "" : "+") + std::string(dtype);
  return count;
}

}  // namespace mha
