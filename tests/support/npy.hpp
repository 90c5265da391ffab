#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mha::test {

/// An array as a test reads it back: `descr` as the file has it (`<f4`), the shape, and the data's bytes.
struct NpyArray {
  std::string descr;
  std::vector<std::size_t> shape;
  std::string data;

  template <class T>
  std::vector<T> values() const {
    std::vector<T> out(data.size() / sizeof(T));
    if (!data.empty()) std::memcpy(out.data(), data.data(), out.size() * sizeof(T));
    return out;
  }
};

/// Reads what numpy.load would accept of format 1.0 in C order; throws otherwise.
inline NpyArray parse_npy(std::string_view bytes) {
  const auto require = [](bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("npy: ") + what);
  };
  require(bytes.size() >= 10 && bytes.substr(0, 8) == std::string_view("\x93NUMPY\x01\0", 8), "magic");
  const std::size_t length =
      static_cast<unsigned char>(bytes[8]) + std::size_t{256} * static_cast<unsigned char>(bytes[9]);
  require(bytes.size() >= 10 + length && (10 + length) % 64 == 0, "header length");
  const std::string header(bytes.substr(10, length));
  require(header.front() == '{' && header.back() == '\n', "header");
  require(header.find("'fortran_order': False") != std::string::npos, "order");
  NpyArray array;
  const std::size_t descr = header.find("'descr': '");
  const std::size_t shape = header.find("'shape': (");
  require(descr != std::string::npos && shape != std::string::npos, "keys");
  array.descr = header.substr(descr + 10, 3);
  std::string extents = header.substr(shape + 10, header.find(')', shape) - shape - 10);
  std::size_t count = 1;
  while (!extents.empty()) {
    std::size_t read = 0;
    array.shape.push_back(std::stoull(extents, &read));
    count *= array.shape.back();
    extents.erase(0, std::min(extents.size(), extents.find_first_not_of(", ", read)));
  }
  array.data = bytes.substr(10 + length);
  require(array.data.size() == count * (array.descr == "<i8" ? 8 : 4), "data size");
  return array;
}

}  // namespace mha::test
