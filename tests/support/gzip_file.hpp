#pragma once

#include <zlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace mha::test {

/// The bytes of a file, unpacked if it is gzipped.
inline std::string read_gzip(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path.string());
  std::string bytes;
  char buffer[1 << 16];
  for (int size = 0; (size = gzread(file, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<std::size_t>(size));
  }
  gzclose(file);
  return bytes;
}

}  // namespace mha::test
