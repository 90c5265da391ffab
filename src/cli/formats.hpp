#pragma once

#include <memory>

#include "cli/options.hpp"
#include "output/records.hpp"

namespace mha::cli {

/// The formatter of an output format. `model` is named on pages and pictures.
std::unique_ptr<RecordFormatter> make_formatter(Format format, const RecordSchema& schema, const std::string& model);

}  // namespace mha::cli
