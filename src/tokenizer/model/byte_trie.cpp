#include "tokenizer/model/byte_trie.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace mha::tokenizer {
namespace {

constexpr std::uint32_t kFree = 0xFFFFFFFF;

std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    value = value << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return value;
}

}  // namespace

/// Nodes are placed in blocks of 256, all children of one parent in one block. Of the blocks with room only the last few
/// are tried, so that building stays linear.
struct ByteTrie::Builder {
  struct Key {
    std::uint64_t first;  ///< its first eight bytes, which decide most comparisons
    std::int32_t number;
  };
  struct Work {
    std::uint32_t node;
    std::uint32_t begin;  ///< keys below the node
    std::uint32_t end;
    std::uint32_t depth;
  };
  using Bits = std::array<std::uint64_t, 4>;  ///< free places of a block

  const std::vector<std::string_view>& names;
  std::vector<Node>& nodes;
  std::vector<Key> keys;
  std::vector<Bits> free;
  std::vector<std::uint32_t> open;  ///< blocks that are still tried, the newest last
  static constexpr std::size_t kOpen = 8;

  Builder(const std::vector<std::string_view>& all, std::vector<Node>& out) : names(all), nodes(out) {}

  void add_block() {
    nodes.resize(nodes.size() + 256, Node{0, kFree, kNone});
    open.push_back(static_cast<std::uint32_t>(free.size()));
    free.push_back({~0ULL, ~0ULL, ~0ULL, ~0ULL});
    if (open.size() > kOpen) open.erase(open.begin());
  }

  static bool is_free(const Bits& bits, unsigned place) { return (bits[place >> 6] >> (place & 63) & 1) != 0; }

  /// A base in the block for which all labels fall on free places, or 256.
  static unsigned fit(const Bits& bits, const unsigned char* labels, std::size_t count) {
    for (unsigned word = 0; word < 4; ++word) {
      for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1) {
        const unsigned base = (word * 64 + static_cast<unsigned>(std::countr_zero(rest))) ^ labels[0];
        bool all = true;
        for (std::size_t i = 1; i < count && all; ++i) all = is_free(bits, base ^ labels[i]);
        if (all) return base;
      }
    }
    return 256;
  }

  std::uint32_t place(const unsigned char* labels, std::size_t count) {
    for (std::size_t i = open.size(); i-- > 0;) {
      const std::uint32_t block = open[i];
      if (const unsigned base = fit(free[block], labels, count); base < 256) return take(block, base, labels, count);
    }
    add_block();
    const std::uint32_t block = open.back();
    return take(block, fit(free[block], labels, count), labels, count);
  }

  std::uint32_t take(std::uint32_t block, unsigned base, const unsigned char* labels, std::size_t count) {
    Bits& bits = free[block];
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned at = base ^ labels[i];
      bits[at >> 6] &= ~(1ULL << (at & 63));
    }
    if ((bits[0] | bits[1] | bits[2] | bits[3]) == 0) std::erase(open, block);
    return block << 8 | base;
  }

  void run() {
    keys.reserve(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty()) keys.push_back({first_bytes(names[i]), static_cast<std::int32_t>(i)});
    }
    const auto name = [&](const Key& key) { return names[static_cast<std::size_t>(key.number)]; };
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
      return a.first != b.first ? a.first < b.first : name(a) < name(b);
    });

    add_block();
    free[0][0] &= ~1ULL;  // the root
    std::vector<Work> work{{0, 0, static_cast<std::uint32_t>(keys.size()), 0}};
    std::array<unsigned char, 256> labels;
    std::array<std::uint32_t, 257> begins;
    while (!work.empty()) {
      Work w = work.back();
      work.pop_back();
      // The one key that ends at the node sorts before its continuations.
      if (w.begin < w.end && name(keys[w.begin]).size() == w.depth) nodes[w.node].value = keys[w.begin++].number;
      if (w.begin == w.end) continue;
      std::size_t count = 0;
      for (std::uint32_t i = w.begin; i < w.end; ++i) {
        const auto label = w.depth < 8 ? static_cast<unsigned char>(keys[i].first >> (56 - 8 * w.depth))
                                       : static_cast<unsigned char>(name(keys[i])[w.depth]);
        if (count == 0 || labels[count - 1] != label) {
          labels[count] = label;
          begins[count++] = i;
        }
      }
      begins[count] = w.end;
      const std::uint32_t base = place(labels.data(), count);
      nodes[w.node].base = base;
      for (std::size_t i = 0; i < count; ++i) {
        nodes[base ^ labels[i]].parent = w.node;
        work.push_back({base ^ labels[i], begins[i], begins[i + 1], w.depth + 1});
      }
    }
  }
};

ByteTrie::ByteTrie(const std::vector<std::string_view>& keys) { Builder(keys, nodes_).run(); }

std::int32_t ByteTrie::find(std::string_view key) const {
  std::uint32_t node = 0;
  for (const char byte : key) {
    node = child(node, static_cast<unsigned char>(byte));
    if (node == 0) return kNone;
  }
  return nodes_[node].value;
}

}  // namespace mha::tokenizer
