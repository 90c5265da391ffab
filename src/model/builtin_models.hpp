#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_set.hpp"

namespace mha {

/// Names of the models inside the binary, the default one first.
std::vector<std::string> builtin_model_names();

/// The files of a built-in model, read like a folder; nullptr for an unknown name.
std::shared_ptr<const FileSet> builtin_model_files(std::string_view name);

}  // namespace mha
