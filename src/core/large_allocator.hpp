#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/large_pages.hpp"
#include "core/round_up.hpp"

namespace mha {

/// Allocator for tables of 1 MiB and more that are filled once and then read at random. It hints for huge pages of
/// 2 MiB: they cost one page fault instead of 512, and fewer address translations. Smaller arrays use std::allocator.
template <typename T>
class LargeAllocator {
 public:
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLarge) return std::allocator<T>().allocate(count);
    const std::size_t rounded = round_up(bytes, kLargePage);
    void* const memory = std::aligned_alloc(kLargePage, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    prefer_large_pages(memory, rounded);
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kLarge) {
      std::allocator<T>().deallocate(memory, count);
    } else {
      std::free(memory);
    }
  }

  friend bool operator==(const LargeAllocator&, const LargeAllocator&) { return true; }

 private:
  static constexpr std::size_t kLarge = std::size_t{1} << 20;
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;
using LargeString = std::basic_string<char, std::char_traits<char>, LargeAllocator<char>>;

}  // namespace mha
