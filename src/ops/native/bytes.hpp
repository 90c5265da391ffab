#pragma once

#include <cstddef>
#include <memory>

namespace mha::native {

/// Memory aligned to 64 bytes, in large pages if the system gives them.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size);
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&& other) noexcept;

  /// Grows without keeping the contents.
  void reserve(std::size_t size);
  std::byte* data() { return memory_.get(); }
  const std::byte* data() const { return memory_.get(); }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t size_ = 0;
};

}  // namespace mha::native
