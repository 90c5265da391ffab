#pragma once

#include <cstddef>
#include <filesystem>

namespace mha {

/// Ends the process in good order if a mapped file is shortened while it is read (cp or rsync --inplace over a model
/// that is in use): a message that names the file, unfinished output files removed, exit code 3. Without it the kernel
/// ends the process by SIGBUS. Other bus errors go to the handler that was there. Call once, in `main`, after
/// `install_signal_cleanup`. `program` begins the message and must outlive the process.
void install_mapping_guard(const char* program);

/// The mappings that the guard knows: `MappedFile` keeps the list. At most 256 at a time, more are not guarded.
void add_mapping(const void* data, std::size_t size, const std::filesystem::path& path);
void remove_mapping(const void* data);

}  // namespace mha
