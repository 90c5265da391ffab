#include "core/utf8.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace mha::utf8 {
namespace {

// Length of the well-formed sequence at `position`, or 0. In that case `partial` is the length of the maximal subpart
// (Unicode 3.9), at least 1.
std::size_t sequence(std::string_view text, std::size_t position, std::size_t& partial) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return position + i < text.size() ? static_cast<unsigned char>(text[position + i]) : 0U;
  };
  partial = 1;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  std::size_t size = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) < low || byte(i) > high) return 0;
    ++partial;
    low = 0x80;
    high = 0xBF;
  }
  return size;
}

}  // namespace

std::size_t first_invalid(std::string_view text) {
  static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");
  const auto load = [&](std::size_t position) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + position, 8);
    return word;
  };
  std::size_t position = 0;
  while (position < text.size()) {
    // Eight bytes at a time while they are ASCII, or sequences of two and three bytes.
    while (position + 8 <= text.size()) {
      std::uint64_t word = load(position);
      const std::uint64_t high = word & 0x8080808080808080ULL;
      if (high == 0) {
        position += 8;
        continue;
      }
      if (const auto ascii = static_cast<unsigned>(std::countr_zero(high)) / 8; ascii > 0) {
        position += ascii;
        continue;
      }
      const auto lead = static_cast<unsigned>(word & 0xFF);
      if ((word & 0xC0C0F0) == 0x8080E0 && lead != 0xE0 && lead != 0xED) {
        position += 3;
      } else if ((word & 0xC0E0) == 0x80C0 && lead >= 0xC2) {
        position += 2;
      } else {
        break;
      }
    }
    if (position >= text.size()) break;
    std::size_t partial = 0;
    const std::size_t size = sequence(text, position, partial);
    if (size == 0) return position;
    position += size;
  }
  return kValid;
}

bool is_ascii(std::string_view text) {
  constexpr std::uint64_t kHigh = 0x8080808080808080ULL;
  const char* const bytes = text.data();
  std::size_t at = 0;
  std::uint64_t seen = 0;
  for (; at + 16 <= text.size(); at += 16) {
    std::uint64_t words[2];
    std::memcpy(words, bytes + at, 16);
    if (((words[0] | words[1]) & kHigh) != 0) return false;
  }
  for (; at < text.size(); ++at) seen |= static_cast<unsigned char>(bytes[at]);
  return (seen & kHigh) == 0;
}

std::size_t length(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += !is_continuation(c);
  return count;
}

char32_t next(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[position + i]));
  };
  const char32_t lead = byte(0);
  char32_t code_point = lead;
  std::size_t size = 1;
  if (lead >= 0xF0) {
    code_point = (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    size = 4;
  } else if (lead >= 0xE0) {
    code_point = (lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    size = 3;
  } else if (lead >= 0xC0) {
    code_point = (lead & 0x1FU) << 6 | (byte(1) & 0x3FU);
    size = 2;
  }
  position += size;
  return code_point;
}

void append(std::string& out, char32_t c) {
  const auto push = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xC0U | c >> 6);
    push(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    push(0xE0U | c >> 12);
    push(0x80U | (c >> 6 & 0x3FU));
    push(0x80U | (c & 0x3FU));
  } else {
    push(0xF0U | c >> 18);
    push(0x80U | (c >> 12 & 0x3FU));
    push(0x80U | (c >> 6 & 0x3FU));
    push(0x80U | (c & 0x3FU));
  }
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    std::size_t partial = 0;
    const std::size_t size = sequence(text, position, partial);
    if (size > 0) {
      out.append(text, position, size);
      position += size;
    } else {
      append(out, 0xFFFD);
      position += partial;
    }
  }
  return out;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t position = 0; position < text.size();) {
    std::size_t partial = 0;
    const std::size_t size = sequence(text, position, partial);
    const auto lead = static_cast<unsigned char>(text[position]);
    const bool control = lead < 0x20 || lead == 0x7F || (lead == 0xC2 && size == 2 && text[position + 1] < '\xA0');
    const std::size_t taken = size > 0 ? size : 1;
    const std::size_t width = size > 0 && !control ? size : 4 * taken;
    if (out.size() + width > max_bytes) return out + "…";
    if (size > 0 && !control) {
      out.append(text, position, size);
    } else {
      for (std::size_t i = 0; i < taken; ++i) {
        const auto byte = static_cast<unsigned char>(text[position + i]);
        out += "\\x";
        out += kHex[byte >> 4];
        out += kHex[byte & 0xFU];
      }
    }
    position += taken;
  }
  return out;
}

std::string quoted(std::string_view text) { return '"' + printable(text) + '"'; }

}  // namespace mha::utf8
