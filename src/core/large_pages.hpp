#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace mha {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

/// Hints that the kernel should use large pages; it may decline. `begin` is a multiple of kLargePage.
inline void prefer_large_pages(void* begin, std::size_t bytes) { ::madvise(begin, bytes, MADV_HUGEPAGE); }

}  // namespace mha
