#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/large_allocator.hpp"

namespace mha::tokenizer {

/// Tokens and their ids, both ways: one arena of bytes, one table of ids, one open-addressing hash. No allocation a
/// token.
class Vocab {
 public:
  /// Ids may have holes, but not be so far apart that the table by id would be mostly empty.
  static constexpr std::int32_t kMaxId = 1 << 28;

  void reserve(std::size_t tokens, std::size_t bytes);

  /// Adds a token. False, and nothing changes, when the token or the id is taken.
  bool add(std::string_view token, std::int32_t id);
  /// As the reference's hash map: the last id of a token wins; its earlier id keeps naming the token's text.
  void add_or_replace(std::string_view token, std::int32_t id);

  /// What a look-up starts from: the first eight bytes, the length and a hash of all.
  struct Key {
    std::uint64_t head;
    std::uint32_t size;
    std::size_t hash;
  };
  /// `readable`: bytes that may be read from the token's first on, at least its own; eight or more spare branches.
  static Key key_of(std::string_view token, std::size_t readable) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    const std::uint64_t head = head_of(token, readable);
    std::uint64_t state = (head ^ token.size()) * kOdd;
    if (token.size() > 8) {
      const char* const end = token.data() + token.size();
      for (const char* at = token.data() + 8; at < end - 8; at += 8) {
        state = (state ^ state >> 32 ^ load<std::uint64_t>(at)) * kOdd;
      }
      state = (state ^ state >> 32 ^ load<std::uint64_t>(end - 8)) * kOdd;
    }
    state ^= state >> 32;
    return {head, static_cast<std::uint32_t>(token.size()), static_cast<std::size_t>(state * kOdd >> 32)};
  }
  /// Has the memory that a look-up needs fetched; the vocabulary must not be empty.
  void prefetch(const Key& key) const { __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]); }

  /// The token's id, −1 when there is none.
  std::int32_t find(std::string_view token) const { return find(token, key_of(token, token.size())); }
  std::int32_t find(std::string_view token, const Key& key) const {
    if (slots_.empty()) return -1;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = key.hash & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.head == key.head && slot.size == key.size && slot.id >= 0) {
        if (token.size() <= sizeof key.head || same(token, slot.id)) return slot.id;
      }
      if (slot.id < 0) return -1;
    }
  }
  std::optional<std::int32_t> id_of(std::string_view token) const {
    const std::int32_t id = find(token);
    return id < 0 ? std::nullopt : std::optional<std::int32_t>(id);
  }
  /// Whether the id names a token.
  bool has(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < entries_.size() &&
           entries_[static_cast<std::size_t>(id)].begin != kNone;
  }
  std::string_view token(std::int32_t id) const {  ///< empty when there is none
    if (!has(id)) return {};
    const Entry& entry = entries_[static_cast<std::size_t>(id)];
    return std::string_view(arena_).substr(entry.begin, entry.size);
  }
  /// Distinct tokens.
  std::size_t size() const { return count_; }
  /// One more than the greatest id.
  std::size_t id_limit() const { return entries_.size(); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Entry {
    std::uint32_t begin = kNone;
    std::uint32_t size = 0;
  };
  /// The first eight bytes decide nearly always, so a look-up touches one line of memory.
  struct Slot {
    std::uint64_t head = 0;
    std::uint32_t size = 0;
    std::int32_t id = -1;
  };
  template <typename Word>
  static Word load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }

  static_assert(std::endian::native == std::endian::little, "heads are put together from their lowest byte on");
  /// The first eight bytes, zeros behind a shorter token. Overlapping loads, as a copy of unknown size is a call.
  static std::uint64_t head_of(std::string_view token, std::size_t readable) {
    const char* const bytes = token.data();
    const std::size_t size = token.size();
    if (readable >= 8 && size > 0) {
      return load<std::uint64_t>(bytes) & ~std::uint64_t{0} >> (size < 8 ? 64 - 8 * size : 0);
    }
    if (size >= 4) {
      return load<std::uint32_t>(bytes) | static_cast<std::uint64_t>(load<std::uint32_t>(bytes + size - 4))
                                              << (8 * (size - 4));
    }
    if (size == 0) return 0;
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    };
    return byte(0) | byte(size / 2) | byte(size - 1);
  }

  bool same(std::string_view token, std::int32_t id) const {
    return std::memcmp(arena_.data() + entries_[static_cast<std::size_t>(id)].begin, token.data(), token.size()) == 0;
  }
  void rehash(std::size_t slots);
  void place(std::string_view token, std::int32_t id);
  Slot& slot_for(std::string_view token, std::int32_t id);

  LargeString arena_;
  LargeVector<Entry> entries_;
  LargeVector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace mha::tokenizer
