#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

namespace mha::tokenizer {

/// Bounded memory of how short words were cut, for one thread and one model: the same word need not be worked out again.
/// Two slots a bucket, the older is given up first. Words that do not fit an entry are not kept.
class WordCache {
 public:
  static constexpr std::size_t kMaxBytes = 24;
  static constexpr std::size_t kMaxPieces = 7;

  /// One cache line: a word, padded with zeros, and its pieces.
  struct alignas(64) Entry {
    std::uint64_t word[3];
    std::int32_t ids[kMaxPieces];
    std::uint8_t ends[kMaxPieces];  ///< end of each piece, in bytes of the word
    std::uint8_t size;              ///< bytes of the word; 0: the entry is free
    std::uint8_t pieces;
  };
  static_assert(sizeof(Entry) == 64);

  WordCache() : entries_(static_cast<Entry*>(std::aligned_alloc(alignof(Entry), kEntries * sizeof(Entry)))) {
    if (entries_ == nullptr) throw std::bad_alloc();
    std::memset(static_cast<void*>(entries_.get()), 0, kEntries * sizeof(Entry));
  }

  struct Key {
    std::uint64_t word[3];
    std::size_t bucket;
    std::uint8_t size;
  };

  /// For 1 to kMaxBytes bytes.
  static Key key_of(std::string_view word) {
    Key key{};
    const char* p = word.data();
    const std::size_t n = word.size();
    if (n >= 8) {
      key.word[0] = load(p);
      if (n > 16) {
        key.word[1] = load(p + 8);
        key.word[2] = load(p + n - 8);
      } else if (n > 8) {
        key.word[1] = load(p + n - 8);
      }
    } else if (n >= 4) {
      key.word[0] = load4(p) | load4(p + n - 4) << 32;
    } else {
      const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(p[i])); };
      key.word[0] = byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16;
    }
    key.size = static_cast<std::uint8_t>(n);
    std::uint64_t h = (key.word[0] + n) * 0x9E3779B97F4A7C15ULL;
    h = (h ^ h >> 29 ^ key.word[1]) * 0xBF58476D1CE4E5B9ULL;
    h = (h ^ h >> 32 ^ key.word[2]) * 0x94D049BB133111EBULL;
    key.bucket = static_cast<std::size_t>(h >> (64 - kBits)) & ~static_cast<std::size_t>(1);
    return key;
  }

  const Entry* find(const Key& key) const {
    const Entry& first = entries_[key.bucket];
    if (matches(first, key)) return &first;
    const Entry& second = entries_[key.bucket + 1];
    return matches(second, key) ? &second : nullptr;
  }

  /// The entry to fill in for a word that `find` did not find.
  Entry& insert(const Key& key) {
    Entry& first = entries_[key.bucket];
    if (first.size != 0) entries_[key.bucket + 1] = first;
    std::memcpy(first.word, key.word, sizeof(key.word));
    first.size = key.size;
    return first;
  }

 private:
  static constexpr unsigned kBits = 14;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;  // 1 MB: stays in the second-level cache

  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  static std::uint64_t load(const char* p) {
    std::uint64_t value;
    std::memcpy(&value, p, 8);
    return value;
  }
  static std::uint64_t load4(const char* p) {
    std::uint32_t value;
    std::memcpy(&value, p, 4);
    return value;
  }
  static bool matches(const Entry& entry, const Key& key) {
    return entry.size == key.size && entry.word[0] == key.word[0] && entry.word[1] == key.word[1] &&
           entry.word[2] == key.word[2];
  }

  std::unique_ptr<Entry[], Free> entries_;
};

}  // namespace mha::tokenizer
