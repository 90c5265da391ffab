#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mha/core/error.hpp"

namespace mha {

/// A whole file, mapped read-only. Pages are read on first access, and processes share them.
///
/// Owns the mapping; spans and views into it live as long as it does, also when it is moved.
/// Errors (of the given kind, naming the path): no such file, not readable, a folder, a device or a pipe. An empty
/// file is legal and maps to no bytes. If another process shortens the file, touching a lost page is a bus error:
/// `install_mapping_guard` turns it into a message.
/// Threads: const functions may be called from any thread.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path, ErrorKind kind = ErrorKind::model);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Largest config, index or tokenizer file that `read_file` takes unless told otherwise, in bytes.
constexpr std::size_t kSmallFileBytes = std::size_t{256} << 20;

/// Content of a regular file. Errors: as above, and for a file larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, ErrorKind kind = ErrorKind::model,
                      std::size_t max_bytes = kSmallFileBytes);

/// The path as error messages print it (`utf8::printable`).
std::string path_text(const std::filesystem::path& path);

}  // namespace mha
