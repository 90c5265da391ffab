#pragma once

#include <filesystem>

namespace mha {

/// Opens /dev/null for each of standard input, output and error that the parent closed, in the wrong direction. So no
/// later file gets such a number, and reading or writing there is an error.
/// Call first in `main`.
void guard_standard_streams();

/// Makes SIGINT, SIGTERM and SIGHUP remove unfinished output files and end the process: SIGINT with exit code 130, the
/// others by the signal. Signals that the parent ignores stay ignored.
void install_signal_cleanup();

/// The list of files that a signal removes. `add` before the file is made; at most 16 at a time, more are not removed.
void add_unfinished_output(const std::filesystem::path& path);
void remove_from_unfinished_outputs(const std::filesystem::path& path);

}  // namespace mha
