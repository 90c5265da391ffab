#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mha::test {

/// The bytes of a safetensors file with this header text, and a length field that fits it unless another is given.
inline std::string safetensors_bytes(std::string_view header, std::string_view data, std::uint64_t length) {
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(static_cast<unsigned char>(length >> shift));
  return file.append(header).append(data);
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return safetensors_bytes(header, data, header.size());
}

/// Little-endian float32 bytes of the numbers 0, 1, … count - 1, each plus `first`.
inline std::string float_bytes(std::size_t count, float first = 0) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = first + static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

}  // namespace mha::test
