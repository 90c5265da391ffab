#include "mha/core/tensor.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace mha {

std::size_t size_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16: return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean: return 1;
  }
  return 1;
}

std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32: return "F32";
    case DType::f16: return "F16";
    case DType::bf16: return "BF16";
    case DType::f64: return "F64";
    case DType::i8: return "I8";
    case DType::u8: return "U8";
    case DType::i16: return "I16";
    case DType::i32: return "I32";
    case DType::i64: return "I64";
    case DType::boolean: return "BOOL";
  }
  return "?";
}

std::size_t TensorView::size() const {
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  return count;
}

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

FloatBuffer::~FloatBuffer() { std::free(data_); }

FloatBuffer::FloatBuffer(FloatBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), capacity_(std::exchange(other.capacity_, 0)) {}

FloatBuffer& FloatBuffer::operator=(FloatBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void FloatBuffer::reserve(std::size_t size) {
  if (size <= capacity_) return;
  constexpr std::size_t kAlignment = 64;
  const std::size_t bytes = (size * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  void* grown = std::aligned_alloc(kAlignment, bytes);
  if (grown == nullptr) throw std::bad_alloc();
  std::free(data_);
  data_ = static_cast<float*>(grown);
  capacity_ = bytes / sizeof(float);
}

}  // namespace mha
