#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/npy.hpp"
#include "mha/core/error.hpp"
#include "output/records.hpp"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

struct Array {
  std::string key;
  std::span<const float> values;
  std::vector<std::size_t> shape;
  EmbeddingType type = EmbeddingType::float32;
};

/// Calls `use` with the values in the type that they are written in.
template <class Use>
void with_values(const Array& array, Use use) {
  switch (array.type) {
    case EmbeddingType::float32:
      return use(array.values);
    case EmbeddingType::int8: {
      std::vector<std::int8_t> bytes(array.values.size());
      std::transform(array.values.begin(), array.values.end(), bytes.begin(),
                     [](float value) { return static_cast<std::int8_t>(value); });
      return use(std::span<const std::int8_t>(bytes));
    }
    case EmbeddingType::uint8: {
      std::vector<std::uint8_t> bytes(array.values.size());
      std::transform(array.values.begin(), array.values.end(), bytes.begin(),
                     [](float value) { return static_cast<std::uint8_t>(value); });
      return use(std::span<const std::uint8_t>(bytes));
    }
  }
}

NpyType npy_type(EmbeddingType type) {
  if (type == EmbeddingType::float32) return NpyType::float32;
  return type == EmbeddingType::int8 ? NpyType::int8 : NpyType::uint8;
}

/// The float arrays of a record that its parts choose.
std::vector<Array> arrays_of(const Record& record, const RecordSchema& schema) {
  const std::size_t tokens = record.tokens();
  const Parts& parts = schema.parts;
  std::vector<Array> arrays;
  if (parts.embedding) {
    arrays.push_back({"embedding", record.embedding, {record.embedding.size()}, schema.embedding_type});
  }
  if (parts.last_hidden_state) {
    arrays.push_back({schema.token_key(), record.last_hidden_state, {tokens, schema.d_model}});
  }
  if (parts.hidden_states) {
    arrays.push_back({"hidden_states", record.hidden_states, {schema.n_layers + 1, tokens, schema.d_model}});
  }
  if (parts.attentions) {
    arrays.push_back({"attentions", record.attentions, {schema.layers.size(), schema.heads.size(), tokens, tokens}});
  }
  return arrays;
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

class RawFormatter : public RecordFormatter {
 public:
  explicit RawFormatter(RecordSchema schema) : schema_(std::move(schema)) {}
  void render(const Record& record, std::string& out) const override {
    if (record.bad()) return;
    for (const Array& array : arrays_of(record, schema_)) {
      with_values(array, [&](auto values) { out += bytes_of(values); });
    }
  }

 private:
  RecordSchema schema_;
};

class NpyFormatter : public RecordFormatter {
 public:
  explicit NpyFormatter(RecordSchema schema) : schema_(std::move(schema)) {}

  void begin(OutputStream& out) override {
    if (schema_.parts.embedding) {
      writer_.emplace(out, npy_type(schema_.embedding_type), std::vector{schema_.embedding_width},
                      schema_.scratch_folder);
    }
  }
  void resume(OutputStream& out) override {
    writer_.emplace(NpyWriter::resumed(out, npy_type(schema_.embedding_type), std::vector{schema_.embedding_width}));
  }
  void render(const Record&, std::string&) const override {}
  void join(const Record& record, OutputStream& out) override {
    for (const Array& array : arrays_of(record, schema_)) {
      if (!schema_.parts.embedding) {
        if (writer_) throw_usage(Parameter{"format"}, "npy: expected one input, got more; npz takes many");
        writer_.emplace(out, NpyType::float32, std::vector(array.shape.begin() + 1, array.shape.end()),
                        schema_.scratch_folder);
      }
      with_values(array, [&](auto values) { writer_->write(values); });
    }
  }
  void end(OutputStream& out) override {
    if (!writer_) writer_.emplace(out, NpyType::float32, std::vector{schema_.d_model});
    writer_->finish();
  }

 private:
  RecordSchema schema_;
  std::optional<NpyWriter> writer_;
};

class NpzFormatter : public RecordFormatter {
 public:
  explicit NpzFormatter(RecordSchema schema) : schema_(std::move(schema)) {}

  void begin(OutputStream& out) override { writer_.emplace(out); }
  void render(const Record&, std::string&) const override {}
  void join(const Record& record, OutputStream&) override {
    std::string prefix = std::to_string(record.input.index) + '.';
    if (record.window) prefix += std::to_string(record.window->number) + '.';
    if (schema_.parts.tokens) add_tokens(record, prefix);
    for (const Array& array : arrays_of(record, schema_)) {
      with_values(array, [&](auto values) { writer_->add(prefix + array.key, array.shape, values); });
    }
  }
  void end(OutputStream&) override { writer_->finish(); }

 private:
  void add_tokens(const Record& record, const std::string& prefix) {
    const Encoding& encoding = record.encoding;
    const std::vector<std::size_t> tokens{record.tokens()};
    const std::vector<std::int32_t> mask(encoding.special_tokens_mask.begin(), encoding.special_tokens_mask.end());
    std::vector<std::int64_t> offsets;
    for (const Span span : offsets_in(record, schema_.offsets)) {
      offsets.push_back(span.begin);
      offsets.push_back(span.end);
    }
    writer_->add(prefix + "input_ids", tokens, encoding.input_ids);
    writer_->add(prefix + "token_type_ids", tokens, encoding.token_type_ids);
    writer_->add(prefix + "special_tokens_mask", tokens, mask);
    writer_->add(prefix + "offsets", std::vector<std::size_t>{record.tokens(), 2}, offsets);
  }

  RecordSchema schema_;
  std::optional<NpzWriter> writer_;
};

}  // namespace

std::unique_ptr<RecordFormatter> npy_formatter(RecordSchema schema) {
  return std::make_unique<NpyFormatter>(std::move(schema));
}

std::unique_ptr<RecordFormatter> npz_formatter(RecordSchema schema) {
  return std::make_unique<NpzFormatter>(std::move(schema));
}

std::unique_ptr<RecordFormatter> raw_formatter(RecordSchema schema) {
  return std::make_unique<RawFormatter>(std::move(schema));
}

}  // namespace mha
