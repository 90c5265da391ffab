#include "model/weight_count.hpp"

#include <set>
#include <string_view>

#include "encoder/places.hpp"

namespace mha {

WeightCount count_weights(const Weights& weights, const SentenceConfig& sentence) {
  WeightCount count;
  std::set<std::string_view> dtypes;
  const auto add = [&](std::string_view part, const Weight& weight) {
    if (!weight.present()) return;
    if (count.parts.empty() || count.parts.back().name != part) count.parts.push_back({std::string(part)});
    const std::size_t bytes = weight.view.bytes() + (weight.scale.data != nullptr ? weight.scale.bytes() : 0);
    count.parts.back().parameters += weight.view.size();
    count.parts.back().bytes += bytes;
    count.parameters += weight.view.size();
    count.bytes += bytes;
    dtypes.insert(name_of(weight.view.dtype));
  };
  for (const auto& [name, weight] : named_weights(weights))
    add(std::string_view(name).substr(0, name.find('.')), *weight);
  for (const auto* modules : {&sentence.token_dense, &sentence.dense}) {
    for (const DenseModule& dense : *modules) {
      add("dense", dense.linear.weight);
      add("dense", dense.linear.bias);
      add("dense", dense.residual_linear.weight);
    }
  }
  for (const std::string_view dtype : dtypes) count.dtype += (count.dtype.empty() ? "" : "+") + std::string(dtype);
  return count;
}

}  // namespace mha
