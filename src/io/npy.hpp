#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

class OutputStream;

/// Element types of the arrays that are written, all little-endian.
enum class NpyType { float32, int32, int64, int8, uint8 };

/// Writes one array in NumPy's format 1.0 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html),
/// row by row; the number of rows need not be known beforehand. C order, `[rows][row_shape…]`.
///
/// If the stream can be patched, rows are written at once and the header is completed at the end. For a pipe, rows are
/// held in memory and, beyond 16 MiB, in an unnamed temporary file in `scratch_folder`.
/// The stream must be at the start of the array, and outlives this. Errors: those of the stream; output if the
/// temporary file cannot be written; internal for values of another type, or not whole rows.
class NpyWriter {
 public:
  NpyWriter(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape,
            std::filesystem::path scratch_folder = "/tmp");
  /// Goes on behind the whole rows of an array that begins the stream, which can be patched.
  static NpyWriter resumed(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape);
  NpyWriter(NpyWriter&&) noexcept;
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Any number of values, row-major.
  void write(std::span<const float> values);
  void write(std::span<const std::int32_t> values);
  void write(std::span<const std::int64_t> values);
  void write(std::span<const std::int8_t> values);
  void write(std::span<const std::uint8_t> values);
  /// Completes the array; the caller commits the stream.
  void finish();

 private:
  class Spool;
  struct Resumed {};

  NpyWriter(OutputStream& out, NpyType type, std::vector<std::size_t> row_shape, Resumed);
  void write_bytes(NpyType type, std::string_view bytes);

  OutputStream& out_;
  NpyType type_;
  std::vector<std::size_t> shape_;  // the first extent, the rows, is known at the end
  std::uint64_t begin_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Spool> spool_;
};

/// Writes arrays into a NumPy archive: a zip file of `NAME.npy` files, stored, with the same bytes each time.
/// Works for pipes too, because each array is complete in memory before it is written.
/// The stream outlives this. Errors: those of the stream; internal if the zip library refuses.
class NpzWriter {
 public:
  explicit NpzWriter(OutputStream& out);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  /// A whole array, row-major; names must differ.
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const float> values);
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int32_t> values);
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int64_t> values);
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::int8_t> values);
  void add(std::string_view name, std::span<const std::size_t> shape, std::span<const std::uint8_t> values);
  /// Writes the archive's directory; the caller commits the stream.
  void finish();

 private:
  class Archive;

  void add_bytes(std::string_view name, NpyType type, std::span<const std::size_t> shape, std::string_view bytes);

  std::unique_ptr<Archive> archive_;
};

}  // namespace mha
