#include "tokenizer/fast/byte_trie.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace mha::tokenizer {
namespace {

constexpr std::uint32_t kFree = 0xFFFFFFFF;

template <typename Word>
std::uint64_t load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

/// Bytes [begin, begin + 8) of a key as a number that sorts like them; zeros after its end.
std::uint64_t eight_bytes(std::string_view key, std::size_t begin) {
  static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");
  if (begin >= key.size()) return 0;
  const char* const bytes = key.data() + begin;
  const std::size_t size = key.size() - begin;
  std::uint64_t value = 0;
  if (size >= 8) {
    value = load<std::uint64_t>(bytes);
  } else if (size >= 4) {
    value = load<std::uint32_t>(bytes) | load<std::uint32_t>(bytes + size - 4) << (8 * (size - 4));
  } else {
    for (const std::size_t i : {std::size_t{0}, size / 2, size - 1}) value |= load<std::uint8_t>(bytes + i) << (8 * i);
  }
  return __builtin_bswap64(value);
}

}  // namespace

/// Nodes are placed in blocks of 256, all children of a parent in one block. Only the last few blocks with room are
/// tried, so that building stays linear. Keys are sorted on the way down: many keys by counting the next byte, few keys
/// at once.
struct ByteTrie::Builder {
  struct Key {
    std::uint64_t first;   ///< its first eight bytes
    std::uint64_t second;  ///< the next eight: together they decide nearly all comparisons
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
  struct Block {
    std::array<std::uint64_t, 4> free{~0ULL, ~0ULL, ~0ULL, ~0ULL};  ///< one bit per place
    std::uint32_t room = 256;                                       ///< free places
  };
  static constexpr std::size_t kOpen = 4;
  static constexpr std::uint32_t kFew = 64;  ///< keys that are sorted at once

  ByteTrie& trie;
  std::span<const std::string_view> texts;
  LargeVector<Key> keys;
  std::vector<Block> blocks;
  std::vector<std::uint32_t> open;  ///< blocks that are still tried, the newest last
  // For the current work: the next bytes of its keys, ascending, and where the keys of each byte begin.
  std::array<unsigned char, 256> labels;
  std::array<std::uint32_t, 257> begins;

  void add_block() {
    trie.nodes_.resize(trie.nodes_.size() + 256, Node{0, kFree, kNone});
    open.push_back(static_cast<std::uint32_t>(blocks.size()));
    blocks.emplace_back();
    if (open.size() > kOpen) open.erase(open.begin());
  }

  static bool is_free(const Block& block, unsigned place) { return (block.free[place >> 6] >> (place & 63) & 1) != 0; }

  /// True if `count` labels have a fair chance to fit into the free places of a block, if these are random.
  static bool may_fit(const Block& block, std::size_t count) {
    constexpr std::array<std::uint32_t, 8> kLeast = {1, 1, 16, 40, 64, 84, 102, 116};  // least^count = 256^(count - 1)
    return block.room >= kLeast[std::min(count, kLeast.size() - 1)];
  }

  /// A base in the block for which the places of all labels are free, or 256.
  unsigned fit(const Block& block, std::size_t count) const {
    for (unsigned word = 0; word < 4; ++word) {
      for (std::uint64_t rest = block.free[word]; rest != 0; rest &= rest - 1) {
        const unsigned base = (word * 64 + static_cast<unsigned>(std::countr_zero(rest))) ^ labels[0];
        bool all = true;
        for (std::size_t i = 1; i < count && all; ++i) all = is_free(block, base ^ labels[i]);
        if (all) return base;
      }
    }
    return 256;
  }

  std::uint32_t place(std::size_t count) {
    // A single child fits anywhere, so it fills the oldest block. Several children try the newest block first.
    for (std::size_t i = 0; i < open.size(); ++i) {
      const std::uint32_t block = open[count == 1 ? i : open.size() - 1 - i];
      if (!may_fit(blocks[block], count)) continue;
      if (const unsigned base = fit(blocks[block], count); base < 256) return take(block, base, count);
    }
    add_block();
    const std::uint32_t block = open.back();
    return take(block, fit(blocks[block], count), count);
  }

  std::uint32_t take(std::uint32_t block, unsigned base, std::size_t count) {
    Block& taken = blocks[block];
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned at = base ^ labels[i];
      taken.free[at >> 6] &= ~(1ULL << (at & 63));
    }
    taken.room -= static_cast<std::uint32_t>(count);
    if (taken.room == 0) std::erase(open, block);
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
    if (key.size <= 16) {
      const std::uint64_t bytes[2] = {__builtin_bswap64(key.first), __builtin_bswap64(key.second)};
      trie.tail_bytes_.append(reinterpret_cast<const char*>(bytes) + depth, key.size - depth);
    } else {
      trie.tail_bytes_.append(text_of(key).substr(depth));
    }
  }

  void sort(std::uint32_t begin, std::uint32_t end) {
    const auto at = [&](std::uint32_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
    std::sort(at(begin), at(end), [this](const Key& a, const Key& b) {
      if (a.first != b.first) return a.first < b.first;
      return a.second != b.second ? a.second < b.second : text_of(a) < text_of(b);
    });
  }

  /// Sorts the keys of `work` that are longer than its depth by their next byte: American flag sort, in
  /// place. Returns the number of labels.
  std::size_t split_by_byte(const Work& work) {
    std::array<std::uint32_t, 256> next{};
    for (std::uint32_t i = work.begin; i < work.end; ++i) ++next[label(keys[i], work.depth)];
    std::array<std::uint32_t, 256> ends;
    std::uint32_t sum = work.begin;
    std::size_t count = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (next[byte] > 0) {
        labels[count] = static_cast<unsigned char>(byte);
        begins[count++] = sum;
      }
      sum += std::exchange(next[byte], sum);
      ends[byte] = sum;
    }
    begins[count] = work.end;
    if (count == 1) return count;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      while (next[byte] < ends[byte]) {
        Key key = keys[next[byte]];
        for (std::size_t here = label(key, work.depth); here != byte; here = label(key, work.depth)) {
          std::swap(key, keys[next[here]++]);
        }
        keys[next[byte]++] = key;
      }
    }
    return count;
  }

  /// Sorts the keys of `work` as far as its node needs, takes the one that ends there, and finds the labels of the
  /// others.
  std::size_t split(Work& work) {
    const bool many = !work.sorted && work.end - work.begin > kFew;
    if (!many && !work.sorted) sort(work.begin, work.end);
    work.sorted = !many;
    if (many) {
      const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(work.begin);
      const auto end = keys.begin() + static_cast<std::ptrdiff_t>(work.end);
      const auto whole = std::find_if(begin, end, [&](const Key& key) { return key.size == work.depth; });
      if (whole != end) std::swap(*begin, *whole);
    }
    if (keys[work.begin].size == work.depth) trie.nodes_[work.node].value = keys[work.begin++].number;
    if (many) return split_by_byte(work);
    if (work.begin == work.end) return 0;
    const unsigned char last = label(keys[work.end - 1], work.depth);
    std::size_t count = 0;
    for (std::uint32_t i = work.begin; i < work.end; ++i) {
      const unsigned char byte = label(keys[i], work.depth);
      if (count > 0 && labels[count - 1] == byte) continue;
      labels[count] = byte;
      begins[count++] = i;
      if (byte == last) break;  // sorted keys, so all others have it too
    }
    begins[count] = work.end;
    return count;
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
    blocks[0].free[0] &= ~1ULL;  // the root
    --blocks[0].room;
    std::vector<Work> work{{0, 0, static_cast<std::uint32_t>(keys.size()), 0, false}};
    while (!work.empty()) {
      Work w = work.back();
      work.pop_back();
      if (w.begin == w.end) continue;
      const std::size_t count = split(w);
      if (count == 0) continue;
      const std::uint32_t base = place(count);
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

ByteTrie::ByteTrie(std::span<const std::string_view> keys) { Builder{*this, keys, {}, {}, {}, {}, {}}.run(); }

std::int32_t ByteTrie::find(std::string_view key) const {
  std::int32_t found = kNone;
  for_each_prefix(key, [&](std::size_t size, std::int32_t number) {
    if (size == key.size()) found = number;
  });
  return found;
}

}  // namespace mha::tokenizer
