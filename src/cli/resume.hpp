#pragma once

#include <cstddef>

#include "cli/options.hpp"
#include "io/output_stream.hpp"

namespace mha::cli {

class Log;

/// Whether `--resume` finds its file finished, and says so: there is nothing to do.
bool is_finished(const OutputOptions& options, Log& log);

/// Cuts what an earlier run left in the unfinished file of JSON Lines records behind its last whole input, and returns
/// the index of the input to go on with. The records of the last input there are made again: it may have had more.
/// Errors: output, naming the file and the byte, where a line is no record.
std::size_t resume_records(OutputStream& out);

}  // namespace mha::cli
