#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

/// A set of byte strings, each with a number, that finds all of its members at the start of a text.
/// A double array: the child of node n for byte b is node `base[n] ^ b`, if that one names n as its parent.
class ByteTrie {
 public:
  static constexpr std::int32_t kNone = -1;

  ByteTrie() = default;
  /// The number of keys[i] is i. Empty keys are never found. Keys must differ.
  explicit ByteTrie(const std::vector<std::string_view>& keys);

  struct Node {
    std::uint32_t base;
    std::uint32_t parent;
    std::int32_t value;  ///< number of the key that ends here, or kNone
  };

  /// The node behind `byte`, or 0, the root, which is nobody's child.
  std::uint32_t child(std::uint32_t node, unsigned char byte) const {
    const std::uint32_t next = nodes_[node].base ^ byte;
    return nodes_[next].parent == node ? next : 0;
  }
  std::int32_t value(std::uint32_t node) const { return nodes_[node].value; }

  /// Number of a whole key, or kNone.
  std::int32_t find(std::string_view key) const;

 private:
  struct Builder;

  std::vector<Node> nodes_;
};

}  // namespace mha::tokenizer
