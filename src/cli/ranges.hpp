#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "cli/options.hpp"
#include "model/quantize.hpp"
#include "pipeline/model_worker.hpp"

namespace mha::cli {

/// Reads `[[least…],[greatest…]]` of `width` numbers each. Throws Error{input} that names the file and what is wrong.
void read_ranges(const std::string& file, std::size_t width, VectorQuantization& quantization);

/// The ranges of the vectors that `workers` make of the texts of `--calibrate`. Throws Error{input} for a bad text, or
/// where there is none.
VectorQuantization calibrate(const Options& options, const ModelWork& work,
                             const std::function<WorkerFactory(const ModelWork&)>& workers);

}  // namespace mha::cli
