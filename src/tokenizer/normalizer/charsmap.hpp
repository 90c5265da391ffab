#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mha::tokenizer {

/// SentencePiece's precompiled character map: a double array over bytes whose values are places in a list of
/// NUL-terminated replacements. Blob: size of the array in bytes (u32), the array (u32 each), the replacements.
/// Source: crate spm_precompiled 0.1.4; all numbers little-endian.
class Charsmap {
 public:
  Charsmap() = default;
  /// Throws Error{model} that names `where` for a blob that is no map, or where an entry's end or replacement lies
  /// outside it. An empty blob changes nothing.
  Charsmap(std::string_view blob, const std::string& where);

  bool empty() const { return units_.empty(); }

  /// What the *shortest* entry that `chunk` starts with is replaced by; empty when there is no such entry.
  std::optional<std::string_view> find(std::string_view chunk) const;

  struct Entry {
    std::size_t size;  ///< bytes of the text that it stands for
    std::string_view replacement;
  };
  /// The longest entry that `text` starts with.
  std::optional<Entry> find_longest(std::string_view text) const;

 private:
  /// Calls `use(bytes, replacement)` for the entries that `text` starts with, shortest first, until it returns false.
  template <typename Use>
  void walk(std::string_view text, const Use& use) const;
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

/// Standard base64 with padding; Error{model} naming `where` otherwise.
std::string decode_base64(std::string_view text, const std::string& where);

}  // namespace mha::tokenizer
