#pragma once

#include <filesystem>

namespace mha::cli {

/// When a signal ends the program (interrupt, hang-up, termination), the unfinished file is removed first; an interrupt
/// exits with 130. One file at a time; an empty path: none.
void remove_when_interrupted(const std::filesystem::path& unfinished);

}  // namespace mha::cli
