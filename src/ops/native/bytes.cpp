#include "ops/native/bytes.hpp"

#include <utility>

#include "core/shared_pages.hpp"

namespace mha::native {

Bytes::Bytes(std::size_t size) { reserve(size); }

Bytes::Bytes(Bytes&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

void Bytes::reserve(std::size_t size) {
  if (size > size_) grow_pages(memory_, size_, size);
}

}  // namespace mha::native
