#pragma once

#include <cstddef>
#include <memory>

namespace mha {

/// Allocates `bytes` of uninitialised memory, aligned to 64 bytes, for long-lived arrays that kernels read often.
/// Small arrays share a chunk of large pages (2 MiB), because address translation would otherwise cost more than
/// arithmetic. A chunk is released only when all arrays in it are gone.
/// Any thread. Throws std::bad_alloc.
std::shared_ptr<std::byte> shared_pages(std::size_t bytes);

/// New capacity in bytes for an array of `had` bytes that must hold `needed`. It grows geometrically, so that repeated
/// small growth does not fragment memory.
std::size_t grown_size(std::size_t had, std::size_t needed);

/// Replaces an array of `bytes` bytes by one of grown_size(bytes, needed); the contents are lost. If memory is short,
/// throws std::bad_alloc and leaves no array.
void grow_pages(std::shared_ptr<std::byte>& memory, std::size_t& bytes, std::size_t needed);

}  // namespace mha
