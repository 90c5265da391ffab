#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_set.hpp"
#include "mha/model/decision.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// Whether a model folder holds an adapter of PEFT (adapter_config.json).
bool has_adapter(const FileSet& files);

/// The arrays of `base` with the folder's LoRA adapter (Hu et al. 2021) merged into them: W + s·B·A, s = α / r, or
/// α / √r if the file says so. Names of the adapter may lack a prefix that the base's have, or the other way round.
/// Keys of adapter_config.json that nothing here reads are appended to `unknown`.
/// Errors: model, naming file and key, for another kind of adapter, a setting that is not implemented, an array of the
/// adapter that fits none of the base's.
std::shared_ptr<const WeightSource> merged_adapter(const FileSet& files, std::shared_ptr<const WeightSource> base,
                                                   const std::vector<std::string_view>& prefixes,
                                                   std::vector<Decision>& decisions, std::vector<std::string>& unknown);

}  // namespace mha
