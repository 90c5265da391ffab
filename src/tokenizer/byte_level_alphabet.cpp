#include "tokenizer/byte_level_alphabet.hpp"

#include "core/utf8.hpp"

namespace mha::tokenizer {

const ByteLevelAlphabet& ByteLevelAlphabet::get() {
  static const ByteLevelAlphabet alphabet;
  return alphabet;
}

ByteLevelAlphabet::ByteLevelAlphabet() {
  bytes_.fill(-1);
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
    characters_[byte] = printable ? byte : next++;
    bytes_[characters_[byte]] = static_cast<std::int16_t>(byte);
    std::string text;
    utf8::append(text, characters_[byte]);
    text.copy(utf8_[byte].data(), 2);
  }
}

void ByteLevelAlphabet::append(std::string_view bytes, std::string& out) const {
  for (const char byte : bytes) out += utf8(static_cast<unsigned char>(byte));
}

}  // namespace mha::tokenizer
