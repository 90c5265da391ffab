#include "tokenizer/normalizer/charsmap.hpp"

#include <algorithm>
#include <array>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The fields of a unit, after darts-clone.
std::uint32_t label_of(std::uint32_t unit) { return unit & (1U << 31 | 0xFFU); }
std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7FFFFFFFU; }
bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1U) != 0; }
std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 1U << 9) >> 6); }

}  // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& where) {
  if (blob.empty()) return;
  const auto fail = [&](const std::string& found) {
    throw_model("tokenizer: " + where + ": expected a precompiled character map, got " + found);
  };
  if (blob.size() < 4) fail("a map of " + std::to_string(blob.size()) + " bytes");
  const std::uint32_t size = read_u32(blob, 0);
  if (size % 4 != 0 || size == 0 || size > blob.size() - 4) {
    fail("an array of " + std::to_string(size) + " bytes in " + std::to_string(blob.size()));
  }
  units_.resize(size / 4);
  for (std::size_t i = 0; i < units_.size(); ++i) units_[i] = read_u32(blob, 4 + 4 * i);
  replacements_ = blob.substr(4 + size);
  if (utf8::first_invalid(replacements_) != utf8::kValid) fail("replacements that are not valid UTF-8");
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (label_of(units_[i]) > 0xFF || !has_leaf(units_[i])) continue;
    const std::size_t leaf = i ^ offset_of(units_[i]);
    if (leaf >= units_.size()) fail("a leaf outside the array");
    const std::size_t begin = value_of(units_[leaf]);
    if (begin > replacements_.size() || (begin < replacements_.size() && utf8::is_continuation(replacements_[begin]))) {
      fail("a replacement at byte " + std::to_string(begin) + " of " + std::to_string(replacements_.size()));
    }
  }
}

template <typename Use>
void Charsmap::walk(std::string_view text, const Use& use) const {
  if (units_.empty()) return;
  std::size_t position = offset_of(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0) return;
    position ^= byte;
    if (position >= units_.size()) return;
    const std::uint32_t unit = units_[position];
    if (label_of(unit) != byte) return;
    position ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    const std::size_t begin = value_of(units_[position]);
    const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    if (!use(i + 1, std::string_view(replacements_).substr(begin, end - begin))) return;
  }
}

std::optional<std::string_view> Charsmap::find(std::string_view chunk) const {
  std::optional<std::string_view> found;
  walk(chunk, [&](std::size_t, std::string_view replacement) {
    found = replacement;
    return false;
  });
  return found;
}

std::optional<Charsmap::Entry> Charsmap::find_longest(std::string_view text) const {
  std::optional<Entry> found;
  walk(text, [&](std::size_t size, std::string_view replacement) {
    const bool at_border = size == text.size() || !utf8::is_continuation(text[size]);
    if (at_border) found = Entry{size, replacement};
    return true;
  });
  return found;
}

std::string decode_base64(std::string_view text, const std::string& where) {
  const auto fail = [&](const std::string& found) {
    throw_model("tokenizer: " + where + ": expected base64, got " + found);
  };
  std::array<signed char, 256> values;
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<signed char>(i);
  }
  if (text.size() % 4 != 0) fail(std::to_string(text.size()) + " characters");
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  std::string out;
  out.reserve(digits / 4 * 3 + 2);
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const signed char value = values[static_cast<unsigned char>(text[i])];
    if (value < 0) fail("character " + std::to_string(i + 1) + " that is no digit");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 != 0) out.push_back(static_cast<char>(static_cast<unsigned char>(bits >> (6 - 2 * (i % 4)) & 0xFFU)));
  }
  if (digits % 4 != 0 && (bits & ((1U << (6 - 2 * ((digits - 1) % 4))) - 1)) != 0) fail("bits behind the last byte");
  return out;
}

}  // namespace mha::tokenizer
