#include "output/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace mha {

const Stage* Explanation::stage(std::string_view name) const {
  const auto found = std::find_if(stages.begin(), stages.end(), [&](const Stage& stage) { return stage.name == name; });
  return found == stages.end() ? nullptr : &*found;
}

std::size_t most_telling_token(const Explanation& explanation) {
  const Stage* probabilities = explanation.stage("probabilities");
  const std::size_t tokens = explanation.labels.size();
  if (probabilities == nullptr || tokens == 0) return 0;
  std::size_t best = 0;
  double best_score = -1;
  for (std::size_t q = 0; q < tokens; ++q) {
    if (explanation.labels[q].special) continue;
    std::map<std::size_t, double> looked_at;
    for (const std::size_t head : explanation.heads) {
      const float* row = probabilities->values.data() + (head * tokens + q) * tokens;
      std::size_t strongest = tokens;
      for (std::size_t k = 0; k < tokens; ++k) {
        if (k == q || explanation.labels[k].special) continue;
        if (strongest == tokens || row[k] > row[strongest]) strongest = k;
      }
      if (strongest == tokens) continue;
      double& weight = looked_at[strongest];
      weight = std::max(weight, static_cast<double>(row[strongest]));
    }
    double score = 0;
    for (const auto& [key, weight] : looked_at) score += weight;
    if (score > best_score) {
      best_score = score;
      best = q;
    }
  }
  return best;
}

std::vector<std::string> Explanation::notes() const {
  std::vector<std::string> notes;
  if (full_length > labels.size()) {
    notes.push_back("The text is cut: " + std::to_string(labels.size()) + " of its " + std::to_string(full_length) +
                    " tokens are read.");
  }
  std::string list;
  for (std::size_t head = 0; head < ablated.size(); ++head) {
    if (ablated[head]) list += (list.empty() ? "" : ", ") + std::to_string(head);
  }
  if (!list.empty()) notes.push_back("Ablated in this layer, so that their Z is 0: heads " + list + ".");
  return notes;
}

}  // namespace mha
