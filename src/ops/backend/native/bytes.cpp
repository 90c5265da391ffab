#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "ops/backend/native/engine.hpp"

namespace mha::native {

Bytes::Bytes(std::size_t size) { reserve(size); }

Bytes::~Bytes() { std::free(data_); }

Bytes::Bytes(Bytes&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void Bytes::reserve(std::size_t size) {
  if (size <= size_) return;
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLargePage = std::size_t{2} << 20;
  const bool large = size >= kLargePage / 2;
  const std::size_t alignment = large ? kLargePage : kLine;
  const std::size_t bytes = (size + kLine - 1) / kLine * kLine;
  void* grown = nullptr;
  if (::posix_memalign(&grown, alignment, bytes) != 0) throw std::bad_alloc();
  // Advice only: without large pages the memory is the same.
  if (large) ::madvise(grown, bytes, MADV_HUGEPAGE);
  std::free(data_);
  data_ = static_cast<std::byte*>(grown);
  size_ = bytes;
}

}  // namespace mha::native
