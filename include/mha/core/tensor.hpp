#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

/// Element types of weight files: all types of safetensors 0.6. A file stays readable if it holds a tensor of a type
/// that is not supported, as long as that tensor is not needed.
enum class DType {
  f32,
  f16,
  bf16,
  f64,
  i8,
  u8,
  i16,
  i32,
  i64,
  boolean,
  u16,
  u32,
  u64,
  c64,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f6_e2m3,
  f6_e3m2,
  f4
};

/// Bits of one element; below 8 only for the F6 and F4 types.
std::size_t bits_of(DType type);
/// Bytes of one element; 0 for types whose elements are not whole bytes.
std::size_t size_of(DType type);
/// The safetensors spelling: "F32", "BF16", …
std::string_view name_of(DType type);
/// The type with that safetensors spelling (case-sensitive), or nothing.
std::optional<DType> dtype_from_name(std::string_view name);

/// A read-only view of an array inside a file or buffer that it does not own.
/// `data` need not be aligned: use `to_float32` or memcpy, never a cast and a dereference.
struct TensorView {
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  const std::byte* data = nullptr;

  std::size_t size() const;  ///< number of elements
  std::size_t bytes() const { return size() * bits_of(dtype) / 8; }
};

/// `[3,4]`, as error messages print shapes.
std::string shape_text(std::span<const std::size_t> shape);

/// A read-only view of a row-major matrix; `stride` is the number of floats from row to row (≥ cols).
struct ConstMatrix {
  const float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  ConstMatrix() = default;
  ConstMatrix(const float* d, std::size_t r, std::size_t c) : ConstMatrix(d, r, c, c) {}
  ConstMatrix(const float* d, std::size_t r, std::size_t c, std::size_t s) : data(d), rows(r), cols(c), stride(s) {}

  const float* row(std::size_t r) const { return data + r * stride; }
  /// Rows `[begin, begin + count)`.
  ConstMatrix rows_of(std::size_t begin, std::size_t count) const { return {row(begin), count, cols, stride}; }
  /// Columns `[begin, begin + count)`: how a head is addressed, by stride and never copied.
  ConstMatrix cols_of(std::size_t begin, std::size_t count) const { return {data + begin, rows, count, stride}; }
};

struct Matrix {
  float* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t stride = 0;

  Matrix() = default;
  Matrix(float* d, std::size_t r, std::size_t c) : Matrix(d, r, c, c) {}
  Matrix(float* d, std::size_t r, std::size_t c, std::size_t s) : data(d), rows(r), cols(c), stride(s) {}

  float* row(std::size_t r) const { return data + r * stride; }
  Matrix rows_of(std::size_t begin, std::size_t count) const { return {row(begin), count, cols, stride}; }
  Matrix cols_of(std::size_t begin, std::size_t count) const { return {data + begin, rows, count, stride}; }
  operator ConstMatrix() const { return {data, rows, cols, stride}; }
};

/// Float array aligned to 64 bytes, for long-lived data that is read often. It may share a chunk of large pages with
/// other buffers; memory is released only when all buffers in the chunk are gone. Grows only by `reserve`, which does
/// not keep the contents.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(std::size_t size) { reserve(size); }
  FloatBuffer(FloatBuffer&& other) noexcept;
  FloatBuffer& operator=(FloatBuffer&& other) noexcept;

  void reserve(std::size_t size);
  float* data() { return data_; }
  const float* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  std::shared_ptr<std::byte> memory_;
  float* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace mha
