#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "core/large_pages.hpp"
#include "tokenizer/models/token_model.hpp"

namespace mha::tokenizer {

static_assert(std::endian::native == std::endian::little, "keys are put together from their lowest byte on");

/// Bounded cache of the pieces of short words, for one thread and one model. Nearly all words are short and have few
/// pieces: an entry is half a cache line, and most look-ups read one line, that of the pair of entries to which the
/// word hashes. Longer words are in a smaller table with one line per entry. If a pair is full, the neighbouring pair
/// is used; of four occupied entries, one that was not read again is replaced first. Words that do not fit an entry are
/// not kept.
class WordCache {
 public:
  static constexpr std::size_t kShortBytes = 15;
  static constexpr std::size_t kShortPieces = 3;
  static constexpr std::size_t kMaxBytes = 24;
  static constexpr std::size_t kMaxPieces = 7;

  WordCache() : shorts_(kShortBits), longs_(kLongBits) {}

  /// Appends the pieces of all words (none empty) to `out`, from the cache if they are in it. Otherwise `cut(word)`
  /// gives the parts of a word ({id, begin, end} in bytes of the word) and whether they may be kept: then each begins
  /// where the one before it ends, the first at 0.
  template <typename Cut>
  void tokenize(std::string_view text, std::span<const Span> words, const Cut& cut, std::vector<Piece>& out) {
    const Tail tail(text);
    // The keys of some words are computed before the first look-up, so that the memory of their entries is fetched in
    // time.
    constexpr std::size_t kAtOnce = 32;
    ShortKey keys[kAtOnce];
    Piece found[kAtOnce * kShortPieces];
    for (std::size_t first = 0; first < words.size(); first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, words.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const Span word = words[first + i];
        keys[i] = short_key(tail.at(text, word.begin), word.end - word.begin);
        __builtin_prefetch(shorts_.entries + keys[i].pair);
      }
      Piece* next = found;
      for (std::size_t i = 0; i < count; ++i) {
        const Span word = words[first + i];
        const auto index = static_cast<std::uint32_t>(first + i);
        if (Short* const entry = find(keys[i])) {
          // All three are written, because branches on their number are hard to predict; extra ones are overwritten.
          next[0] = {entry->ids[0], word.begin, word.begin + entry->ends[0], index};
          next[1] = {entry->ids[1], next[0].end, word.begin + entry->ends[1], index};
          next[2] = {entry->ids[2], next[1].end, word.end, index};
          next += entry->pieces;
          continue;
        }
        out.insert(out.end(), found, next);
        next = found;
        add_other(text.substr(word.begin, word.end - word.begin), keys[i], word.begin, index, cut, out);
      }
      out.insert(out.end(), found, next);
    }
  }

 private:
  static constexpr unsigned kShortBits = 16;  // entries: 2 MB
  static constexpr unsigned kLongBits = 13;   // 512 kB

  /// A word, padded with zeros, its size in the last byte (0: the entry is free), and its pieces, which cover it.
  struct alignas(32) Short {
    std::uint64_t low;
    std::uint64_t high;
    std::int32_t ids[kShortPieces];
    std::uint8_t ends[kShortPieces - 1];  ///< end of each piece, in bytes of the word; the size if there is none
    std::uint8_t pieces;
    std::uint8_t used;  ///< 1: was read again

    bool is_free() const { return high == 0; }
  };
  static_assert(sizeof(Short) == 32);

  struct alignas(64) Long {
    std::uint64_t word[3];
    std::int32_t ids[kMaxPieces];
    std::uint8_t ends[kMaxPieces];
    std::uint8_t size;  ///< bytes of the word; 0: the entry is free
    std::uint8_t pieces;
    std::uint8_t used;

    bool is_free() const { return size == 0; }
  };
  static_assert(sizeof(Long) == 64);

  struct ShortKey {
    std::uint64_t low;
    std::uint64_t high;
    std::size_t pair;  ///< the even one of two entries
  };
  struct LongKey {
    std::uint64_t word[3];
    std::size_t pair;  ///< the even one of two entries
    std::uint8_t size;
  };

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  /// Entries, in pairs. The system provides zeroed memory, and a page costs nothing until a word hashes to
  /// it. It is a huge page if possible, because words are spread all over it.
  template <typename Entry>
  struct Table {
    explicit Table(unsigned bits) {
      const std::size_t bytes = sizeof(Entry) << bits;
      const std::size_t alignment = bytes < kLargePage ? 2 * sizeof(Entry) : kLargePage;
      memory.reset(std::calloc(1, bytes + alignment));
      if (memory == nullptr) throw std::bad_alloc();
      void* begin = memory.get();
      std::size_t room = bytes + alignment;
      entries = static_cast<Entry*>(std::align(alignment, bytes, begin, room));
      if (alignment == kLargePage) prefer_large_pages(entries, bytes);
    }
    /// Entries that may hold a word of this pair, by preference.
    std::array<Entry*, 4> places(std::size_t pair) const {
      Entry* const own = entries + pair;
      Entry* const other = entries + (pair ^ 2);
      return {own, own + 1, other, other + 1};
    }
    /// An entry to fill in for a word of this pair.
    Entry& make_room(std::size_t pair) {
      const std::array<Entry*, 4> all = places(pair);
      auto chosen = std::find_if(all.begin(), all.end(), [](const Entry* entry) { return entry->is_free(); });
      if (chosen == all.end()) {
        chosen = std::find_if(all.begin(), all.end(), [](const Entry* entry) { return entry->used == 0; });
      }
      if (chosen == all.end()) {
        for (Entry* const entry : all) entry->used = 0;
        --chosen;
      }
      (*chosen)->used = 0;
      return **chosen;
    }

    std::unique_ptr<void, Free> memory;
    Entry* entries = nullptr;
  };

  /// The last bytes of a text with zeros after them, so that sixteen bytes can be read from each of its positions.
  class Tail {
   public:
    explicit Tail(std::string_view text) : begin_(text.size() - std::min(text.size(), std::size_t{15})) {
      std::copy(text.begin() + static_cast<std::ptrdiff_t>(begin_), text.end(), bytes_);
    }
    const char* at(std::string_view text, std::size_t position) const {
      return position < begin_ ? text.data() + position : bytes_ + (position - begin_);
    }

   private:
    std::size_t begin_;  ///< sixteen bytes can be read before it
    char bytes_[32] = {};
  };

  /// Mask of the word within sixteen bytes, by its size; a word too long for a short entry gets an impossible size.
  struct Mask {
    std::uint64_t low;
    std::uint64_t high;
    std::uint64_t size;
  };
  static constexpr std::array<Mask, kShortBytes + 2> kMasks = [] {
    std::array<Mask, kShortBytes + 2> masks{};
    for (std::size_t size = 0; size <= kShortBytes; ++size) {
      for (std::size_t byte = 0; byte < size; ++byte) {
        (byte < 8 ? masks[size].low : masks[size].high) |= std::uint64_t{0xFF} << (byte % 8 * 8);
      }
      masks[size].size = std::uint64_t{size} << 56;
    }
    masks[kShortBytes + 1].size = ~std::uint64_t{0};
    return masks;
  }();

  /// `bytes`: sixteen that can be read.
  static ShortKey short_key(const char* bytes, std::size_t size) {
    const Mask& mask = kMasks[std::min(size, kShortBytes + 1)];
    const std::uint64_t low = load(bytes) & mask.low;
    const std::uint64_t high = (load(bytes + 8) & mask.high) | mask.size;
    std::uint64_t hash = low + high * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ULL;
    return {low, high, static_cast<std::size_t>(hash >> (64 - kShortBits)) & ~std::size_t{1}};
  }

  Short* find(const ShortKey& key) const {
    const auto differs = [&](const Short& entry) { return ((entry.low ^ key.low) | (entry.high ^ key.high)) != 0; };
    // The choice within a pair needs no branch.
    const auto one_of = [&](Short* pair) { return pair + (differs(*pair) ? 1 : 0); };
    Short* entry = one_of(shorts_.entries + key.pair);
    if (differs(*entry)) {
      entry = one_of(shorts_.entries + (key.pair ^ 2));
      if (differs(*entry)) return nullptr;
    }
    if (entry->used == 0) entry->used = 1;
    return entry;
  }

  static LongKey long_key(std::string_view word) {
    LongKey key{};
    std::copy(word.begin(), word.end(), reinterpret_cast<char*>(key.word));
    key.size = static_cast<std::uint8_t>(word.size());
    std::uint64_t hash = (key.word[0] + word.size()) * 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ hash >> 29 ^ key.word[1]) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ hash >> 32 ^ key.word[2]) * 0x94D049BB133111EBULL;
    key.pair = static_cast<std::size_t>(hash >> (64 - kLongBits)) & ~std::size_t{1};
    return key;
  }

  Long* find(const LongKey& key) const {
    for (Long* const entry : longs_.places(key.pair)) {
      if (entry->size != key.size || std::memcmp(entry->word, key.word, sizeof key.word) != 0) continue;
      if (entry->used == 0) entry->used = 1;
      return entry;
    }
    return nullptr;
  }

  /// Appends the pieces of a word that is in no short entry, and keeps them if they fit.
  template <typename Cut>
  void add_other(std::string_view word, const ShortKey& short_key, std::uint32_t begin, std::uint32_t index,
                 const Cut& cut, std::vector<Piece>& out) {
    LongKey key{};
    if (word.size() <= kMaxBytes) {
      key = long_key(word);
      if (const Long* const entry = find(key)) {
        std::uint32_t at = begin;
        for (std::size_t i = 0; i < entry->pieces; ++i) {
          const std::uint32_t end = begin + entry->ends[i];
          out.push_back({entry->ids[i], at, end, index});
          at = end;
        }
        return;
      }
    }
    const auto [parts, may_keep] = cut(word);
    if (parts.size() > out.size()) out.reserve(out.size() + parts.size());
    for (const auto& part : parts) out.push_back({part.id, begin + part.begin, begin + part.end, index});
    if (!may_keep || word.size() > kMaxBytes || parts.size() > kMaxPieces) return;
    if (word.size() <= kShortBytes && parts.size() <= kShortPieces && !parts.empty() &&
        parts.back().end == word.size()) {
      Short& entry = shorts_.make_room(short_key.pair);
      entry.low = short_key.low;
      entry.high = short_key.high;
      std::fill_n(entry.ends, kShortPieces - 1, static_cast<std::uint8_t>(word.size()));
      fill(entry, parts, kShortPieces - 1);
    } else {
      Long& entry = longs_.make_room(key.pair);
      std::memcpy(entry.word, key.word, sizeof key.word);
      entry.size = key.size;
      fill(entry, parts, kMaxPieces);
    }
  }

  template <typename Entry, typename Parts>
  static void fill(Entry& entry, const Parts& parts, std::size_t ends) {
    entry.pieces = static_cast<std::uint8_t>(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      entry.ids[i] = parts[i].id;
      if (i < ends) entry.ends[i] = static_cast<std::uint8_t>(parts[i].end);
    }
  }

  static std::uint64_t load(const char* bytes) {
    std::uint64_t value;
    std::memcpy(&value, bytes, 8);
    return value;
  }

  Table<Short> shorts_;
  Table<Long> longs_;
};

}  // namespace mha::tokenizer
