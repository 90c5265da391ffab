#pragma once

#include <string>
#include <vector>

#include "mha/encoder/weights.hpp"
#include "model/families/family.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// Finds all arrays of the encoder and checks types and shapes. Names that were not taken are appended to `unused`,
/// sorted. Errors: model, as ArrayFinder.
Weights bind_weights(const FamilyModel& family, const WeightSource& source, std::vector<std::string>& unused);

/// What to say if the file holds whole layers that the configuration does not use; empty if it does not.
std::string unused_layers(const FamilyModel& family, const WeightSource& source);

}  // namespace mha
