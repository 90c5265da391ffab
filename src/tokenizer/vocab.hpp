#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

/// Tokens and their ids, both ways: one arena of bytes, one table of ids, one open-addressing hash. No allocation a token.
class Vocab {
 public:
  /// Ids may have holes, but not be so far apart that the table by id would be mostly empty.
  static constexpr std::int32_t kMaxId = 1 << 28;

  void reserve(std::size_t tokens, std::size_t bytes);

  /// Adds a token. False, and nothing changes, when the token or the id is taken.
  bool add(std::string_view token, std::int32_t id);
  /// As the reference's hash map: the last id of a token wins; its earlier id keeps naming the token's text.
  void add_or_replace(std::string_view token, std::int32_t id);

  std::int32_t find(std::string_view token) const {  ///< -1 when there is none
    if (slots_.empty()) return -1;
    return find_hashed(token, hash(token));
  }
  std::optional<std::int32_t> id_of(std::string_view token) const {
    const std::int32_t id = find(token);
    return id < 0 ? std::nullopt : std::optional<std::int32_t>(id);
  }
  /// Whether the id names a token.
  bool has(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < entries_.size() && entries_[static_cast<std::size_t>(id)].begin != kNone;
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
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;
  };

  static std::uint32_t hash(std::string_view token);
  std::int32_t find_hashed(std::string_view token, std::uint32_t hash) const;
  void rehash(std::size_t slots);
  void place(std::string_view token, std::int32_t id);

  std::string arena_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace mha::tokenizer
