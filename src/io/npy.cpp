#include "io/npy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/round_up.hpp"
#include "io/file_descriptor.hpp"
#include "io/npy_header.hpp"
#include "io/output_stream.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

constexpr std::size_t kHeaderUnit = 64;
constexpr std::size_t kMaxDigits = 20;  // of a 64-bit extent
constexpr std::size_t kMemoryBytes = std::size_t{16} << 20;

const char* descr_of(NpyType type) {
  switch (type) {
    case NpyType::float32:
      return "<f4";
    case NpyType::int32:
      return "<i4";
    case NpyType::int64:
      return "<i8";
    case NpyType::int8:
      return "|i1";
    case NpyType::uint8:
      return "|u1";
  }
  return "";
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::size_t size_of(NpyType type) {
  if (type == NpyType::int8 || type == NpyType::uint8) return 1;
  return type == NpyType::int64 ? 8 : 4;
}

std::string npy_header(NpyType type, std::span<const std::size_t> shape) {
  std::string text = "{'descr': '";
  text += descr_of(type);
  text += "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  const std::size_t digits = shape.empty() ? 0 : std::to_string(shape[0]).size();
  const std::size_t widest = 10 + text.size() + (kMaxDigits - digits) + 1;
  const std::size_t size = round_up(widest, kHeaderUnit);
  text.resize(size - 10 - 1, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(static_cast<unsigned char>(text.size() & 0xFFU));
  header += static_cast<char>(static_cast<unsigned char>(text.size() >> 8));
  return header + text;
}

/// Bytes that must wait until the header is known.
class NpyWriter::Spool {
 public:
  explicit Spool(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void append(std::string_view bytes) {
    memory_.append(bytes);
    if (memory_.size() > kMemoryBytes) spill();
  }

  void copy_to(OutputStream& out) {
    if (file_) {
      spill();
      std::string block(std::size_t{1} << 16, '\0');
      for (off_t offset = 0;;) {
        const ssize_t got = ::pread(file_.get(), block.data(), block.size(), offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail();
        if (got == 0) break;
        out.write({block.data(), static_cast<std::size_t>(got)});
        offset += got;
      }
    }
    out.write(memory_);
  }

 private:
  [[noreturn]] static void fail() { throw_output("temporary file for npy: " + system_error_text(errno)); }

  void spill() {
    if (!file_) {
      std::string name = folder_ / "mha-XXXXXX";
      file_ = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
      if (!file_) fail();
      ::unlink(name.c_str());
    }
    std::string_view rest = memory_;
    while (!rest.empty()) {
      const ssize_t done = ::write(file_.get(), rest.data(), rest.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) fail();
      rest.remove_prefix(static_cast<std::size_t>(done));
    }
    memory_.clear();
  }

  std::filesystem::path folder_;
  std::string memory_;
  FileDescriptor file_;
};

NpyWriter::NpyWriter(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape,
                     std::filesystem::path scratch_folder)
    : out_(out), type_(type), shape_(std::move(row_shape)), begin_(out.position()) {
  shape_.insert(shape_.begin(), 0);
  if (out_.can_patch()) {
    out_.write(npy_header(type_, shape_));
  } else {
    spool_ = std::make_unique<Spool>(std::move(scratch_folder));
  }
}

NpyWriter::NpyWriter(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape, Resumed)
    : out_(out), type_(type), shape_(std::move(row_shape)), begin_(0) {
  shape_.insert(shape_.begin(), 0);
  const std::size_t header = npy_header(type_, shape_).size();
  if (!out_.can_patch() || out_.position() < header) throw_internal("npy: nothing to go on behind");
  bytes_ = out_.position() - header;
}
NpyWriter NpyWriter::resumed(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape) {
  return {out, type, std::move(row_shape), Resumed{}};
}

NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;

void NpyWriter::write_bytes(NpyType type, std::string_view bytes) {
  if (type != type_) throw_internal("npy: values of another type than the array's");
  bytes_ += bytes.size();
  spool_ != nullptr ? spool_->append(bytes) : out_.write(bytes);
}

void NpyWriter::write(std::span<const float> values) { write_bytes(NpyType::float32, bytes_of(values)); }
void NpyWriter::write(std::span<const std::int32_t> values) { write_bytes(NpyType::int32, bytes_of(values)); }
void NpyWriter::write(std::span<const std::int64_t> values) { write_bytes(NpyType::int64, bytes_of(values)); }
void NpyWriter::write(std::span<const std::int8_t> values) { write_bytes(NpyType::int8, bytes_of(values)); }
void NpyWriter::write(std::span<const std::uint8_t> values) { write_bytes(NpyType::uint8, bytes_of(values)); }

void NpyWriter::finish() {
  std::size_t row_bytes = size_of(type_);
  for (std::size_t i = 1; i < shape_.size(); ++i) row_bytes *= shape_[i];
  if (row_bytes == 0 ? bytes_ != 0 : bytes_ % row_bytes != 0) throw_internal("npy: the values are no whole rows");
  shape_[0] = row_bytes == 0 ? 0 : bytes_ / row_bytes;
  const std::string header = npy_header(type_, shape_);
  if (spool_ == nullptr) {
    out_.patch(begin_, header);
  } else {
    out_.write(header);
    spool_->copy_to(out_);
  }
}

}  // namespace mha
