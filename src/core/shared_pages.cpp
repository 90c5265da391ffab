#include "core/shared_pages.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>

#include "core/large_pages.hpp"
#include "core/round_up.hpp"

namespace mha {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kChunk = std::size_t{32} << 20;
// Larger arrays get a chunk of their own, which is released with them.
constexpr std::size_t kLargest = kChunk / 4;

/// A reserved address range of whole large pages; the system commits memory when it is touched.
std::shared_ptr<std::byte> map_chunk(std::size_t bytes) {
  const std::size_t mapped = bytes + kLargePage;
  void* const start = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const std::size_t skipped =
      round_up(reinterpret_cast<std::uintptr_t>(start), kLargePage) - reinterpret_cast<std::uintptr_t>(start);
  std::byte* const first = static_cast<std::byte*>(start) + skipped;
  prefer_large_pages(first, bytes);
  return {first, [start, mapped](std::byte*) { ::munmap(start, mapped); }};
}

/// The chunk that small arrays are cut from, one after the other.
class OpenChunk {
 public:
  std::shared_ptr<std::byte> cut(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (chunk_ == nullptr || kChunk - used_ < bytes) {
      chunk_ = map_chunk(kChunk);
      used_ = 0;
    }
    std::byte* const first = chunk_.get() + used_;
    used_ += bytes;
    return {chunk_, first};
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<std::byte> chunk_;
  std::size_t used_ = 0;
};

}  // namespace

std::shared_ptr<std::byte> shared_pages(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  bytes = round_up(std::max<std::size_t>(bytes, 1), kLine);
#ifdef __SANITIZE_ADDRESS__
  // The sanitizer sees accesses beyond an array's end only if each array is allocated separately.
  void* const alone = std::aligned_alloc(kLine, bytes);
  if (alone == nullptr) throw std::bad_alloc();
  return {static_cast<std::byte*>(alone), [](std::byte* memory) { std::free(memory); }};
#else
  if (bytes > kLargest) return map_chunk(round_up(bytes, kLargePage));
  // Never destroyed, because arrays of other static objects may outlive it.
  static OpenChunk& open = *new OpenChunk;
  return open.cut(bytes);
#endif
}

void grow_pages(std::shared_ptr<std::byte>& memory, std::size_t& bytes, std::size_t needed) {
  const std::size_t grown = grown_size(bytes, needed);
  memory.reset();
  bytes = 0;
  memory = shared_pages(grown);
  bytes = grown;
}

std::size_t grown_size(std::size_t had, std::size_t needed) {
  return needed < kLargest ? std::max(needed, had + had / 2) : needed;
}

}  // namespace mha
