#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/model/model.hpp"

namespace mha::tokenizer {

/// Bounded memory of how short words were cut, for one thread and one model: the same word need not be worked out again.
/// Two slots a bucket; one that was not asked for since the last change of the bucket is given up first. Words that do not
/// fit an entry are not kept.
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
    std::uint8_t used;  ///< 1: asked for again
  };
  static_assert(sizeof(Entry) == 64);

  /// The memory is zero because the system gives it so: a page costs nothing until a word falls on it.
  WordCache() : memory_(std::calloc(kEntries + 1, sizeof(Entry))) {
    if (memory_ == nullptr) throw std::bad_alloc();
    void* begin = memory_.get();
    std::size_t room = (kEntries + 1) * sizeof(Entry);
    entries_ = static_cast<Entry*>(std::align(alignof(Entry), kEntries * sizeof(Entry), begin, room));
  }

  /// Cuts all words, those that are known from memory: appends their pieces to `out`. `cut(word)` gives the parts of a word
  /// that is not ({id, begin, end} in bytes of the word) and whether they may be kept: each begins where the one before it
  /// ends, the first at 0.
  template <typename Cut>
  void tokenize(std::string_view text, std::span<const Span> words, const Cut& cut, std::vector<Piece>& out) {
    // Keys are worked out some words ahead, so that the memory of their buckets is here in time.
    constexpr std::size_t kAhead = 8;
    Key keys[kAhead];
    const auto word_at = [&](std::size_t i) { return text.substr(words[i].begin, words[i].end - words[i].begin); };
    const auto look_ahead = [&](std::size_t i) {
      const std::string_view word = word_at(i);
      Key& key = keys[i % kAhead];
      if (word.size() > kMaxBytes) {
        key.size = 0;
        return;
      }
      key = key_of(word);
      __builtin_prefetch(&entries_[key.bucket]);
      __builtin_prefetch(&entries_[key.bucket + 1]);
    };
    for (std::size_t i = 0; i < std::min(kAhead, words.size()); ++i) look_ahead(i);
    for (std::uint32_t index = 0; index < words.size(); ++index) {
      const Key key = keys[index % kAhead];
      if (index + kAhead < words.size()) look_ahead(index + kAhead);
      const std::uint32_t word_begin = words[index].begin;
      if (Entry* entry = key.size > 0 ? find(key) : nullptr) {
        if (entry->used == 0) entry->used = 1;
        std::uint32_t begin = word_begin;
        for (std::size_t i = 0; i < entry->pieces; ++i) {
          const std::uint32_t end = word_begin + entry->ends[i];
          out.push_back({entry->ids[i], begin, end, index});
          begin = end;
        }
        continue;
      }
      const auto [parts, may_keep] = cut(word_at(index));
      if (parts.size() > out.size()) out.reserve(out.size() + parts.size());
      for (const auto& part : parts) out.push_back({part.id, word_begin + part.begin, word_begin + part.end, index});
      if (key.size == 0 || !may_keep || parts.size() > kMaxPieces) continue;
      Entry& entry = insert(key);
      entry.pieces = static_cast<std::uint8_t>(parts.size());
      for (std::size_t i = 0; i < parts.size(); ++i) {
        entry.ids[i] = parts[i].id;
        entry.ends[i] = static_cast<std::uint8_t>(parts[i].end);
      }
    }
  }

 private:
  static constexpr unsigned kBits = 16;
  static constexpr std::size_t kEntries = std::size_t{1} << kBits;  // 4 MB

  struct Key {
    std::uint64_t word[3];
    std::size_t bucket;
    std::uint8_t size;  ///< 0: the word is too long
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

  Entry* find(const Key& key) {
    Entry& first = entries_[key.bucket];
    if (matches(first, key)) return &first;
    Entry& second = entries_[key.bucket + 1];
    return matches(second, key) ? &second : nullptr;
  }

  /// The entry to fill in for a word that `find` did not find.
  Entry& insert(const Key& key) {
    Entry& first = entries_[key.bucket];
    Entry& second = entries_[key.bucket + 1];
    const bool keep_first = first.size != 0 && (first.used != 0 || second.size == 0);
    Entry& chosen = keep_first ? second : first;
    if (keep_first && second.used != 0) first.used = 0;
    std::memcpy(chosen.word, key.word, sizeof(key.word));
    chosen.size = key.size;
    chosen.used = 0;
    return chosen;
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
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

  std::unique_ptr<void, Free> memory_;
  Entry* entries_ = nullptr;
};

}  // namespace mha::tokenizer
