#pragma once

#include <filesystem>

namespace mha {

/// Opens /dev/null for each of standard input, output and error that the parent closed, in the wrong direction. So no
/// later file gets such a number, and reading or writing there is an error.
/// Call first in `main`.
void guard_standard_streams();

/// Makes every signal that ends the process remove unfinished output files first: SIGINT then exits with code 130, the
/// others end it as they do by default. Signals that the parent ignores stay ignored. SIGXFSZ is ignored: a file over
/// its size limit is an error of the write.
void install_signal_cleanup();

/// Whether the cursor of standard error stands behind an unfinished line, such as one of progress: a signal that ends
/// the process then begins a new line.
void set_line_open(bool open);

/// The list of files that a signal removes. `add` before the file is made; at most 16 at a time, more are not removed.
void add_unfinished_output(const std::filesystem::path& path);
void remove_from_unfinished_outputs(const std::filesystem::path& path);

/// Removes all files of that list. May be called by a signal handler that ends the process.
void unlink_unfinished_outputs();

}  // namespace mha
