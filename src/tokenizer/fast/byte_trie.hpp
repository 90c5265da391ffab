#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/large_allocator.hpp"

namespace mha::tokenizer {

/// A set of byte strings, each with a number, that finds all of its members at the start of a text.
/// A double array: the child of node n for byte b is node `base[n] ^ b`, if that node names n as its parent. Once a key
/// is unique, its remaining bytes are stored as a tail.
class ByteTrie {
 public:
  static constexpr std::int32_t kNone = -1;

  ByteTrie() = default;
  /// The number of keys[i] is i. Empty keys are never found. Keys must differ.
  explicit ByteTrie(std::span<const std::string_view> keys);

  /// Calls `use(size, number)` for each key that `text` starts with, shortest first.
  template <typename Use>
  void for_each_prefix(std::string_view text, const Use& use) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size();) {
      const std::uint32_t next = nodes_[node].base ^ static_cast<unsigned char>(text[i++]);
      if (nodes_[next].parent != node) return;
      node = next;
      const Node& found = nodes_[node];
      if (found.value == kNone) continue;
      if ((found.base & kTail) != 0) {
        const Tail tail = tails_[found.base & ~kTail];
        if (text.size() - i < tail.size || text.compare(i, tail.size, tail_bytes_, tail.begin, tail.size) != 0) return;
        use(i + tail.size, found.value);
        return;
      }
      use(i, found.value);
    }
  }

  /// Number of a whole key, or kNone.
  std::int32_t find(std::string_view key) const;

 private:
  static constexpr std::uint32_t kTail = 1U << 31;

  struct Node {
    std::uint32_t base;  ///< or kTail | index of a tail
    std::uint32_t parent;
    std::int32_t value;  ///< number of the key that ends here, or kNone
  };
  struct Tail {
    std::uint32_t begin;
    std::uint32_t size;
  };
  struct Builder;

  LargeVector<Node> nodes_;
  LargeVector<Tail> tails_;
  LargeString tail_bytes_;
};

}  // namespace mha::tokenizer
