#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace mha::tokenizer {

/// GPT-2's alphabet: every byte as a printable character. Source: openai/gpt-2, src/encoder.py, bytes_to_unicode.
class ByteLevelAlphabet {
 public:
  static const ByteLevelAlphabet& get();

  /// The character of a byte, U+0021 to U+0143.
  char32_t character(unsigned char byte) const { return characters_[byte]; }
  /// Its UTF-8, one or two bytes.
  std::string_view utf8(unsigned char byte) const { return {utf8_[byte].data(), characters_[byte] < 0x80 ? 1U : 2U}; }
  /// The byte of a character, -1 when it is none of the alphabet.
  int byte(char32_t character) const { return character < bytes_.size() ? bytes_[character] : -1; }

  /// `bytes` written with the alphabet.
  void append(std::string_view bytes, std::string& out) const;

 private:
  ByteLevelAlphabet();

  std::array<char32_t, 256> characters_{};
  std::array<std::array<char, 2>, 256> utf8_{};
  std::array<std::int16_t, 0x144> bytes_{};
};

}  // namespace mha::tokenizer
