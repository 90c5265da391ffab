#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mha::utf8 {

constexpr std::size_t kValid = static_cast<std::size_t>(-1);

/// Byte offset of the first byte that is not part of a well-formed sequence (overlong forms, surrogates and values
/// above U+10FFFF are malformed), or kValid.
std::size_t first_invalid(std::string_view text);

/// True if no byte is above 0x7F.
bool is_ascii(std::string_view text);

/// Whether a byte of valid UTF-8 is inside a code point, not at its start.
constexpr bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Number of code points of valid UTF-8.
std::size_t length(std::string_view text);

/// Decodes the code point that starts at `position` of valid UTF-8, and moves `position` past it.
char32_t next(std::string_view text, std::size_t& position);

/// Appends one code point (a Unicode scalar value).
void append(std::string& out, char32_t code_point);

/// Replaces every malformed byte sequence by U+FFFD (maximal subparts, as the Unicode standard recommends and Python's
/// errors="replace" does).
std::string replace_invalid(std::string_view text);

/// Text from outside, safe for a message: control characters (U+0080 to U+009F included) and bytes that are not UTF-8
/// become `\xNN`. A text longer than `max_bytes` is cut and ends in `…`.
std::string printable(std::string_view text, std::size_t max_bytes = 200);
/// The same between double quotes, for names.
std::string quoted(std::string_view text);

}  // namespace mha::utf8
