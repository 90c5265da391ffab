#include "tokenizer/model/byte_trie.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace mha::tokenizer {
namespace {

constexpr std::uint32_t kFree = 0xFFFFFFFF;

/// Bytes [begin, begin + 8) of a key as a number that sorts like them; zeros behind its end.
std::uint64_t eight_bytes(std::string_view key, std::size_t begin) {
  if (begin + 8 <= key.size()) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, key.data() + begin, 8);
    return __builtin_bswap64(bytes);
  }
  std::uint64_t value = 0;
  for (std::size_t i = begin; i < begin + 8; ++i) {
    value = value << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0U);
  }
  return value;
}

}  // namespace

/// Nodes are placed in blocks of 256, all children of one parent in one block. Of the blocks with room only the last few
/// are tried, so that building stays linear. Keys are sorted on the way down: many by counting the next byte, few at once.
struct ByteTrie::Builder {
  struct Key {
    std::uint64_t first;   ///< its first eight bytes
    std::uint64_t second;  ///< the eight behind them: together they decide nearly all comparisons
    std::uint32_t size;
    std::int32_t number;
  };
  struct Work {
    std::uint32_t node;
    std::uint32_t begin;  ///< keys below the node
    std::uint32_t end;
    std::uint32_t depth;
    bool sorted;
  };
  using Bits = std::array<std::uint64_t, 4>;  ///< free places of a block
  static constexpr std::size_t kOpen = 4;
  static constexpr std::uint32_t kFew = 24;  ///< keys that are sorted at once

  ByteTrie& trie;
  std::span<const std::string_view> texts;
  LargeVector<Key> keys;
  std::vector<Bits> free;
  std::vector<std::uint32_t> open;  ///< blocks that are still tried, the newest last

  void add_block() {
    trie.nodes_.resize(trie.nodes_.size() + 256, Node{0, kFree, kNone});
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
    // One child fits anywhere: it fills the oldest block. Several look for room in the newest first.
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::uint32_t block = open[count == 1 ? i : open.size() - 1 - i];
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

  std::string_view text_of(const Key& key) const { return texts[static_cast<std::size_t>(key.number)]; }

  unsigned char label(const Key& key, std::uint32_t depth) const {
    if (depth < 8) return static_cast<unsigned char>(key.first >> (56 - 8 * depth));
    if (depth < 16) return static_cast<unsigned char>(key.second >> (120 - 8 * depth));
    return static_cast<unsigned char>(text_of(key)[depth]);
  }

  /// The node of the first `depth` bytes of a key that no other key shares.
  void add_last(Node& node, const Key& key, std::uint32_t depth) {
    node.value = key.number;
    if (key.size == depth) return;
    node.base = kTail | static_cast<std::uint32_t>(trie.tails_.size());
    trie.tails_.push_back({static_cast<std::uint32_t>(trie.tail_bytes_.size()), key.size - depth});
    for (std::uint32_t i = depth; i < key.size; ++i) trie.tail_bytes_ += static_cast<char>(label(key, i));
  }

  void sort(std::uint32_t begin, std::uint32_t end) {
    const auto at = [&](std::uint32_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
    std::sort(at(begin), at(end), [this](const Key& a, const Key& b) {
      if (a.first != b.first) return a.first < b.first;
      return a.second != b.second ? a.second < b.second : text_of(a) < text_of(b);
    });
  }

  /// Brings keys of more than `depth` bytes into the order of that byte: American flag sort, in place.
  void sort_by_byte(std::uint32_t begin, std::uint32_t end, std::uint32_t depth) {
    std::array<std::uint32_t, 256> next{};
    for (std::uint32_t i = begin; i < end; ++i) ++next[label(keys[i], depth)];
    std::array<std::uint32_t, 256> ends;
    std::uint32_t sum = begin;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      sum += std::exchange(next[byte], sum);
      ends[byte] = sum;
    }
    for (std::size_t byte = 0; byte < 256; ++byte) {
      while (next[byte] < ends[byte]) {
        Key key = keys[next[byte]];
        for (std::size_t here = label(key, depth); here != byte; here = label(key, depth)) {
          std::swap(key, keys[next[here]++]);
        }
        keys[next[byte]++] = key;
      }
    }
  }

  /// Sorts the keys of `work` as far as its node needs; a key that ends there comes first.
  void sort_for(Work& work) {
    if (work.sorted) return;
    if (work.end - work.begin <= kFew) {
      sort(work.begin, work.end);
      work.sorted = true;
      return;
    }
    std::uint32_t longer = work.begin;
    for (std::uint32_t i = work.begin; i < work.end; ++i) {
      if (keys[i].size == work.depth) std::swap(keys[i], keys[longer++]);
    }
    sort_by_byte(longer, work.end, work.depth);
  }

  void run() {
    keys.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string_view text = texts[i];
      if (text.empty()) continue;
      keys.push_back({eight_bytes(text, 0), eight_bytes(text, 8), static_cast<std::uint32_t>(text.size()),
                      static_cast<std::int32_t>(i)});
    }
    trie.nodes_.reserve(keys.size() * 3 + 1024);
    trie.tails_.reserve(keys.size());
    add_block();
    free[0][0] &= ~1ULL;  // the root
    std::vector<Work> work{{0, 0, static_cast<std::uint32_t>(keys.size()), 0, false}};
    std::array<unsigned char, 256> labels;
    std::array<std::uint32_t, 257> begins;
    while (!work.empty()) {
      Work w = work.back();
      work.pop_back();
      if (w.begin == w.end) continue;
      sort_for(w);
      const Key& first = keys[w.begin];
      if (first.size == w.depth) {
        trie.nodes_[w.node].value = first.number;
        if (++w.begin == w.end) continue;
      }
      std::size_t count = 0;
      for (std::uint32_t i = w.begin; i < w.end; ++i) {
        const unsigned char byte = label(keys[i], w.depth);
        if (count == 0 || labels[count - 1] != byte) {
          labels[count] = byte;
          begins[count++] = i;
        }
      }
      begins[count] = w.end;
      const std::uint32_t base = place(labels.data(), count);
      trie.nodes_[w.node].base = base;
      for (std::size_t i = 0; i < count; ++i) {
        Node& child = trie.nodes_[base ^ labels[i]];
        child.parent = w.node;
        if (begins[i + 1] - begins[i] > 1) {
          work.push_back({base ^ labels[i], begins[i], begins[i + 1], w.depth + 1, w.sorted});
        } else {
          add_last(child, keys[begins[i]], w.depth + 1);
        }
      }
    }
  }
};

ByteTrie::ByteTrie(std::span<const std::string_view> keys) { Builder{*this, keys, {}, {}, {}}.run(); }

std::int32_t ByteTrie::find(std::string_view key) const {
  std::int32_t found = kNone;
  for_each_prefix(key, [&](std::size_t size, std::int32_t number) {
    if (size == key.size()) found = number;
  });
  return found;
}

}  // namespace mha::tokenizer
