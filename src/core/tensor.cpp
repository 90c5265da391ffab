#include "mha/core/tensor.hpp"

#include <limits>
#include <new>
#include <utility>

#include "core/shared_pages.hpp"

namespace mha {

namespace {

struct DTypeFacts {
  DType type;
  std::string_view name;
  std::size_t bits;
};

// In the order of the enumeration, which is the index.
constexpr DTypeFacts kDTypes[] = {
    {DType::f32, "F32", 32},        {DType::f16, "F16", 16},        {DType::bf16, "BF16", 16},
    {DType::f64, "F64", 64},        {DType::i8, "I8", 8},           {DType::u8, "U8", 8},
    {DType::i16, "I16", 16},        {DType::i32, "I32", 32},        {DType::i64, "I64", 64},
    {DType::boolean, "BOOL", 8},    {DType::u16, "U16", 16},        {DType::u32, "U32", 32},
    {DType::u64, "U64", 64},        {DType::c64, "C64", 64},        {DType::f8_e5m2, "F8_E5M2", 8},
    {DType::f8_e4m3, "F8_E4M3", 8}, {DType::f8_e8m0, "F8_E8M0", 8}, {DType::f6_e2m3, "F6_E2M3", 6},
    {DType::f6_e3m2, "F6_E3M2", 6}, {DType::f4, "F4", 4},
};

// A message shows at most this many extents, because a hostile header may claim any number.
constexpr std::size_t kMostExtents = 16;

const DTypeFacts& facts_of(DType type) { return kDTypes[static_cast<std::size_t>(type)]; }

}  // namespace

std::size_t bits_of(DType type) { return facts_of(type).bits; }

std::size_t size_of(DType type) {
  const std::size_t bits = bits_of(type);
  return bits % 8 == 0 ? bits / 8 : 0;
}

std::string_view name_of(DType type) { return facts_of(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeFacts& facts : kDTypes) {
    if (facts.name == name) return facts.type;
  }
  return std::nullopt;
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
    if (i == kMostExtents) return text + "… " + std::to_string(shape.size()) + " extents]";
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

FloatBuffer::FloatBuffer(FloatBuffer&& other) noexcept
    : memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FloatBuffer& FloatBuffer::operator=(FloatBuffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

void FloatBuffer::reserve(std::size_t size) {
  if (size <= capacity_) return;
  if (size > std::numeric_limits<std::size_t>::max() / 2 / sizeof(float)) throw std::bad_alloc();
  std::size_t bytes = capacity_ * sizeof(float);
  data_ = nullptr;
  capacity_ = 0;
  grow_pages(memory_, bytes, size * sizeof(float));
  data_ = reinterpret_cast<float*>(memory_.get());
  capacity_ = bytes / sizeof(float);
}

}  // namespace mha
