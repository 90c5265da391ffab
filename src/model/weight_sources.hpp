#pragma once

#include <memory>
#include <string>

#include "io/file_set.hpp"
#include "io/json_weights.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// The arrays of safetensors files: of the file called `name`, or, when that is empty, of model.safetensors or the
/// shards that model.safetensors.index.json lists. Errors: model.
std::shared_ptr<const WeightSource> safetensors_source(const FileSet& files, const std::string& name = "");

/// The arrays of an mha-json file; `origin` names it in messages.
std::shared_ptr<const WeightSource> json_source(std::shared_ptr<const JsonModel> model, const std::string& origin);

}  // namespace mha
