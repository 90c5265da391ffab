#pragma once

#include <memory>
#include <string>

#include "cli/options.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {

class Log;

/// Places where models are looked up by name, from the environment and the path of this program.
ModelSearch model_search();

/// The model of `-m`, else `$MHA_MODEL`, else the built-in default.
ModelLocation choose_model(const Options& options);

LoadOptions load_options(const Options& options);

/// Loads the model of a header and passes its notes on as warnings.
std::shared_ptr<const Model> load_model(const ModelHeader& header, const Options& options, Log& log);

/// `--threads`, else what this process may use.
std::size_t thread_count(const Options& options);

}  // namespace mha::cli
