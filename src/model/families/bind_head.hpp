#pragma once

#include <string>
#include <vector>

#include "mha/encoder/heads.hpp"
#include "mha/encoder/weights.hpp"
#include "model/families/family.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// The tasks for which the file holds a head: those that `architectures` names, else those whose arrays exist.
std::vector<Task> tasks_of(const FamilyModel& family, const WeightSource& source);

/// Finds the arrays of one head and removes their names from `unused`. Errors: model, as ArrayFinder, and if the family
/// has no such head.
HeadWeights bind_head(const FamilyModel& family, Task task, const Weights& weights, const WeightSource& source,
                      std::vector<std::string>& unused);

}  // namespace mha
