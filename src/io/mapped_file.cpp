#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/utf8.hpp"
#include "io/file_descriptor.hpp"
#include "io/mapping_guard.hpp"

namespace mha {
namespace {

// Opens a regular file and gives its size. O_NONBLOCK: opening a pipe must fail below, not wait for a writer.
FileDescriptor open_regular(const std::filesystem::path& path, ErrorKind kind, std::size_t& size) {
  const auto fail = [&](const std::string& why) { throw Error(kind, path_text(path) + ": " + why); };
  if (path.native().find('\0') != std::string::npos) fail("a NUL character in the path");
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) {
    const int why = errno;
    std::error_code ignored;
    if (why == ENOENT && std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored))) {
      fail("a link to a file that is not there; incomplete download?");
    }
    fail(why == ENOENT ? "no such file" : system_error_text(why));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail(system_error_text(errno));
  if (S_ISDIR(status.st_mode)) fail("expected a file, got a folder");
  if (!S_ISREG(status.st_mode)) fail("expected a regular file, got a device or a pipe");
  size = static_cast<std::size_t>(status.st_size);
  return file;
}

}  // namespace

std::string path_text(const std::filesystem::path& path) { return utf8::printable(path.native(), 4096); }

MappedFile::MappedFile(const std::filesystem::path& path, ErrorKind kind) : path_(path) {
  std::size_t size = 0;
  const FileDescriptor file = open_regular(path, kind, size);
  if (size == 0) return;
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping == MAP_FAILED) {
    throw Error(kind, path_text(path) + ": cannot be mapped into memory: " + system_error_text(errno));
  }
  data_ = static_cast<const std::byte*>(mapping);
  size_ = size;
  add_mapping(data_, size_, path_);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  remove_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string read_file(const std::filesystem::path& path, ErrorKind kind, std::size_t max_bytes) {
  std::size_t size = 0;
  const FileDescriptor file = open_regular(path, kind, size);
  const auto too_large = [&] {
    throw Error(kind, path_text(path) + ": too large: expected at most " + std::to_string(max_bytes) + " bytes, got " +
                          std::to_string(size));
  };
  if (size > max_bytes) too_large();
  std::string content(size, '\0');
  std::size_t have = 0;
  // Files of /proc report size 0 but have content, so read until the end.
  for (;;) {
    if (have == content.size()) {
      if (have > max_bytes) too_large();
      content.resize(have + 4096);
    }
    const ssize_t got = ::read(file.get(), content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(kind, path_text(path) + ": cannot be read: " + system_error_text(errno));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
    size = have;
  }
  content.resize(have);
  return content;
}

}  // namespace mha
