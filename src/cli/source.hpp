#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "cli/options.hpp"
#include "mha/pipeline/pipeline.hpp"

namespace mha::cli {

class Log;

/// The inputs of a command: its TEXT arguments, its files, or standard input. Throws Error{input} for a file that is
/// not there, and Error{usage} where there is nothing to read but a terminal.
std::unique_ptr<RecordSource> open_source(const Options& options, Log& log);

/// Bytes of all input files together where every one is a regular file, else 0.
std::size_t total_bytes(const InputOptions& input);

/// Whether a file holds JSON Lines by its ending.
bool is_json_lines(const std::string& file);

}  // namespace mha::cli
