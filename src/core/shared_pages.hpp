#pragma once

#include <cstddef>
#include <memory>

namespace mha {

/// `bytes` of memory, aligned to 64 bytes, not initialised, for arrays that kernels run over again and again.
/// Neighbours lie in the same large pages (2 MiB) where the system gives them: a block of rows that touches a page for
/// each row, or a model's weights, would otherwise cost more in address translation than in arithmetic. Memory goes
/// back to the system when all that shares its chunk is gone. Any thread. Throws std::bad_alloc.
std::shared_ptr<std::byte> shared_pages(std::size_t bytes);

/// What to ask for when an array of `had` bytes must hold `needed`: more than that, so that a row more at a time does
/// not leave a trail of outgrown arrays.
std::size_t grown_size(std::size_t had, std::size_t needed);

/// Replaces an array of `bytes` bytes by one of grown_size(bytes, needed), without its contents. Throws std::bad_alloc
/// and leaves none then.
void grow_pages(std::shared_ptr<std::byte>& memory, std::size_t& bytes, std::size_t needed);

}  // namespace mha
