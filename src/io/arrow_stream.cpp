#include "io/arrow_stream.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "arrow_generated.h"
#include "mha/core/error.hpp"

static_assert(std::endian::native == std::endian::little, "the schema says that numbers are little-endian");

namespace mha {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr std::size_t kAlignment = 64;  // of each buffer, as the format recommends
constexpr std::uint32_t kContinuation = 0xFFFFFFFF;

std::size_t padded(std::size_t bytes, std::size_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

void append_u32(std::string& out, std::uint32_t value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Continuation mark, length of the metadata, the metadata padded to 8 bytes; the body follows.
std::string framed(FlatBufferBuilder& builder, arrow::MessageHeader kind, Offset<void> header, std::size_t body) {
  builder.Finish(
      arrow::CreateMessage(builder, arrow::MetadataVersion_V5, kind, header, static_cast<std::int64_t>(body)));
  const std::size_t size = padded(builder.GetSize(), 8);
  std::string message;
  message.reserve(8 + size + body);
  append_u32(message, kContinuation);
  append_u32(message, static_cast<std::uint32_t>(size));
  message.append(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  message.resize(8 + size, '\0');
  return message;
}

bool is_list(ArrowStream::Type type) { return type != ArrowStream::Type::int64 && type != ArrowStream::Type::text; }

Offset<arrow::Field> number_field(FlatBufferBuilder& builder, const char* name, ArrowStream::Type type, bool nullable) {
  if (type == ArrowStream::Type::float32_list) {
    const auto number = arrow::CreateFloatingPoint(builder, arrow::Precision_SINGLE).Union();
    return arrow::CreateFieldDirect(builder, name, nullable, arrow::Type_FloatingPoint, number, 0, nullptr);
  }
  const bool whole = type == ArrowStream::Type::int64;
  const auto number = arrow::CreateInt(builder, whole ? 64 : 8, type != ArrowStream::Type::uint8_list).Union();
  return arrow::CreateFieldDirect(builder, name, nullable, arrow::Type_Int, number, 0, nullptr);
}

Offset<arrow::Field> field_of(FlatBufferBuilder& builder, const ArrowStream::Column& column) {
  const char* const name = column.name.c_str();
  if (column.type == ArrowStream::Type::int64) return number_field(builder, name, column.type, true);
  if (column.type == ArrowStream::Type::text) {
    const auto text = arrow::CreateUtf8(builder).Union();
    return arrow::CreateFieldDirect(builder, name, true, arrow::Type_Utf8, text, 0, nullptr);
  }
  const std::vector<Offset<arrow::Field>> children{number_field(builder, "item", column.type, false)};
  if (column.width == 0) {
    const auto list = arrow::CreateList(builder).Union();
    return arrow::CreateFieldDirect(builder, name, true, arrow::Type_List, list, 0, &children);
  }
  const auto list = arrow::CreateFixedSizeList(builder, static_cast<std::int32_t>(column.width)).Union();
  return arrow::CreateFieldDirect(builder, name, true, arrow::Type_FixedSizeList, list, 0, &children);
}

// Buffers of a batch, each padded, and where they lie in its body.
class Body {
 public:
  void add(const void* data, std::size_t bytes) {
    places_.emplace_back(static_cast<std::int64_t>(bytes_.size()), static_cast<std::int64_t>(bytes));
    if (bytes > 0) bytes_.append(static_cast<const char*>(data), bytes);
    bytes_.resize(padded(bytes_.size(), kAlignment), '\0');
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  const std::string& bytes() const { return bytes_; }
  const std::vector<arrow::Buffer>& places() const { return places_; }

 private:
  std::string bytes_;
  std::vector<arrow::Buffer> places_;
};

std::vector<std::uint8_t> bits_of(const std::vector<std::uint8_t>& flags) {
  std::vector<std::uint8_t> bits((flags.size() + 7) / 8);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (flags[i] << (i % 8)));
  }
  return bits;
}

}  // namespace

ArrowStream::ArrowStream(std::vector<Column> columns, std::vector<std::pair<std::string, std::string>> metadata)
    : columns_(std::move(columns)), metadata_(std::move(metadata)), values_(columns_.size()) {}

std::size_t ArrowStream::element_bytes(const Column& column) const {
  switch (column.type) {
    case Type::int64:
      return sizeof(std::int64_t);
    case Type::float32_list:
      return sizeof(float);
    case Type::text:
    case Type::int8_list:
    case Type::uint8_list:
      return 1;
  }
  return 1;
}

void ArrowStream::end_value(std::size_t column, bool valid) {
  Values& values = values_[column];
  const Column& described = columns_[column];
  values.valid.push_back(valid ? 1 : 0);
  if (!valid) ++values.nulls;
  const std::size_t fixed =
      described.type == Type::int64 ? sizeof(std::int64_t) : described.width * element_bytes(described);
  if (fixed > 0 && described.type != Type::text) {
    if (valid && values.data.size() != values.valid.size() * fixed) {
      throw_internal("arrow: column " + described.name + ": a list of another width");
    }
    values.data.resize(values.valid.size() * fixed);
    return;
  }
  const std::size_t end = values.data.size() / element_bytes(described);
  if (end > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw_output("arrow: column " + described.name + ": more than 2 GiB in one batch");
  }
  values.ends.push_back(static_cast<std::int32_t>(end));
}

void ArrowStream::add(std::size_t column, std::int64_t value) {
  values_[column].data.append(reinterpret_cast<const char*>(&value), sizeof value);
  end_value(column, true);
}
void ArrowStream::add(std::size_t column, std::string_view text) {
  values_[column].data += text;
  end_value(column, true);
}
void ArrowStream::add(std::size_t column, std::span<const float> list) {
  values_[column].data.append(reinterpret_cast<const char*>(list.data()), list.size_bytes());
  end_value(column, true);
}
void ArrowStream::add(std::size_t column, std::span<const std::uint8_t> bytes) {
  values_[column].data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  end_value(column, true);
}

void ArrowStream::end_row() {
  ++rows_;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (values_[column].valid.size() < rows_) end_value(column, false);
  }
}

std::size_t ArrowStream::bytes() const {
  std::size_t sum = 0;
  for (const Values& values : values_) sum += values.data.size();
  return sum;
}

std::string ArrowStream::begin() const {
  FlatBufferBuilder builder;
  std::vector<Offset<arrow::Field>> fields;
  for (const Column& column : columns_) fields.push_back(field_of(builder, column));
  std::vector<Offset<arrow::KeyValue>> metadata;
  for (const auto& [key, value] : metadata_) {
    metadata.push_back(arrow::CreateKeyValueDirect(builder, key.c_str(), value.c_str()));
  }
  const auto schema =
      arrow::CreateSchemaDirect(builder, arrow::Endianness_Little, &fields, metadata.empty() ? nullptr : &metadata);
  return framed(builder, arrow::MessageHeader_Schema, schema.Union(), 0);
}

std::string ArrowStream::batch() {
  Body body;
  body.reserve(bytes() + 4 * kAlignment * columns_.size() + rows_ * sizeof(std::int32_t) * columns_.size());
  std::vector<arrow::FieldNode> nodes;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    Values& values = values_[i];
    nodes.emplace_back(static_cast<std::int64_t>(rows_), static_cast<std::int64_t>(values.nulls));
    const std::vector<std::uint8_t> bits = values.nulls == 0 ? std::vector<std::uint8_t>() : bits_of(values.valid);
    body.add(bits.data(), bits.size());
    if (column.type == Type::text || (is_list(column.type) && column.width == 0)) {
      body.add(values.ends.data(), values.ends.size() * sizeof(std::int32_t));
    }
    if (is_list(column.type)) {
      nodes.emplace_back(static_cast<std::int64_t>(values.data.size() / element_bytes(column)), 0);
      body.add(nullptr, 0);  // every number is there
    }
    body.add(values.data.data(), values.data.size());
    values = {};
  }
  FlatBufferBuilder builder;
  const auto header = arrow::CreateRecordBatchDirect(builder, static_cast<std::int64_t>(rows_), &nodes, &body.places());
  std::string message = framed(builder, arrow::MessageHeader_RecordBatch, header.Union(), body.bytes().size());
  message += body.bytes();
  rows_ = 0;
  return message;
}

std::string ArrowStream::end() {
  std::string mark;
  append_u32(mark, kContinuation);
  append_u32(mark, 0);
  return mark;
}

}  // namespace mha
