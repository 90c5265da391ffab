#include <minizip/zip.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/utf8.hpp"
#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

// The buffer that minizip writes to: the part of the archive after `flushed`. Minizip may seek back in it to fill in
// sizes. Once an entry is closed it never seeks back, so the buffer can be written, even into a pipe.
struct Window {
  std::string held;
  std::uint64_t flushed = 0;
  std::uint64_t position = 0;
};

Window& window_of(voidpf stream) { return *static_cast<Window*>(stream); }

voidpf open_window(voidpf opaque, const void*, int) { return opaque; }
uLong read_window(voidpf, voidpf, void*, uLong) { return 0; }
int close_window(voidpf, voidpf) { return 0; }
int error_of_window(voidpf, voidpf) { return 0; }
ZPOS64_T position_in_window(voidpf, voidpf stream) { return window_of(stream).position; }

uLong write_window(voidpf, voidpf stream, const void* bytes, uLong size) {
  Window& window = window_of(stream);
  const std::size_t offset = window.position - window.flushed;
  if (window.held.size() < offset + size) window.held.resize(offset + size);
  std::copy_n(static_cast<const char*>(bytes), size, window.held.data() + offset);
  window.position += size;
  return size;
}

long seek_window(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  Window& window = window_of(stream);
  const std::uint64_t end = window.flushed + window.held.size();
  const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                             : origin == ZLIB_FILEFUNC_SEEK_CUR ? window.position
                                                                : end;
  const std::uint64_t target = base + offset;
  if (target < window.flushed || target > end) return -1;
  window.position = target;
  return 0;
}

}  // namespace

class NpzWriter::Archive {
 public:
  explicit Archive(OutputStream& out) : out_(out) {
    zlib_filefunc64_def functions{open_window, read_window,  write_window,    position_in_window,
                                  seek_window, close_window, error_of_window, &window_};
    zip_ = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
    if (zip_ == nullptr) throw_internal("npz: the zip library cannot start");
  }

  ~Archive() {
    if (zip_ != nullptr) zipClose(zip_, nullptr);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void begin_entry(const std::string& name, std::uint64_t bytes) {
    zip_fileinfo info{};
    info.dosDate = 1U << 21 | 1U << 16;  // 1980-01-01, so that equal arrays give equal archives
    // An entry of 4 GiB or more needs the 64-bit form from the start.
    const int zip64 = bytes >= std::numeric_limits<std::uint32_t>::max() - 1024;
    check(zipOpenNewFileInZip64(zip_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, zip64), name);
    name_ = name;
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t size = std::min<std::size_t>(bytes.size(), std::size_t{1} << 24);
      check(zipWriteInFileInZip(zip_, bytes.data(), static_cast<unsigned>(size)), name_);
      bytes.remove_prefix(size);
    }
  }

  void end_entry() {
    check(zipCloseFileInZip(zip_), name_);
    flush();
  }

  void finish() {
    const int result = zipClose(zip_, nullptr);
    zip_ = nullptr;
    check(result, "directory");
    flush();
  }

 private:
  void check(int result, const std::string& name) const {
    if (result != ZIP_OK) {
      throw_internal("npz: " + utf8::printable(name) + ": the zip library says " + std::to_string(result));
    }
  }

  void flush() {
    out_.write(window_.held);
    window_.flushed += window_.held.size();
    window_.held.clear();
  }

  OutputStream& out_;
  Window window_;
  zipFile zip_ = nullptr;
  std::string name_;
};

NpzWriter::NpzWriter(OutputStream& out) : archive_(std::make_unique<Archive>(out)) {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::add_bytes(std::string_view name, NpyType type, std::span<const std::size_t> shape,
                          std::string_view bytes) {
  std::size_t expected = size_of(type);
  for (const std::size_t extent : shape) expected *= extent;
  if (expected != bytes.size()) throw_internal("npz: " + utf8::printable(name) + ": the values do not fill the shape");
  const std::string header = npy_header(type, shape);
  archive_->begin_entry(std::string(name) + ".npy", header.size() + bytes.size());
  archive_->write(header);
  archive_->write(bytes);
  archive_->end_entry();
}

void NpzWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const float> values) {
  add_bytes(name, NpyType::float32, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
void NpzWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int32_t> values) {
  add_bytes(name, NpyType::int32, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
void NpzWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int64_t> values) {
  add_bytes(name, NpyType::int64, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
void NpzWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int8_t> values) {
  add_bytes(name, NpyType::int8, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}
void NpzWriter::add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::uint8_t> values) {
  add_bytes(name, NpyType::uint8, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

void NpzWriter::finish() { archive_->finish(); }

}  // namespace mha
