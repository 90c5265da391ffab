#pragma once

#include <string>
#include <vector>

namespace mha {

/// Places where names are looked up. The command line fills them from the environment.
struct ModelSearch {
  std::string model_path;  ///< $MHA_MODEL_PATH, colon separated
  std::string share_dir;   ///< installed share/mha/models
  std::string hub_cache;   ///< resolved from HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; empty when unknown
};

/// A model that was found but not read.
struct ModelLocation {
  enum class Kind { folder, json_file, builtin } kind = Kind::folder;
  std::string path;     ///< folder, file, or the built-in name
  std::string name;     ///< for people
  std::string weights;  ///< a `.safetensors` file of the folder that was asked for by name; empty: the usual ones
};

/// A directory; a `.safetensors` or `.json` file; a name in the search path; a built-in; `org/name` in the hub cache.
/// Throws Error{model} that lists every place that was searched.
ModelLocation find_model(const std::string& name, const ModelSearch& search);
/// Every model that can be found by name, built-ins first.
std::vector<ModelLocation> list_models(const ModelSearch& search);
/// The model that is used when none is named: built in.
std::string default_model_name();

}  // namespace mha
