#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "mha/output/records.hpp"

namespace mha {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie in memory");

struct Array {
  std::string key;
  std::span<const float> values;
  std::vector<std::size_t> shape;
};

/// The float arrays of a record that its parts choose.
std::vector<Array> arrays_of(const Record& record, const RecordSchema& schema) {
  const std::size_t tokens = record.tokens();
  const Parts& parts = schema.parts;
  std::vector<Array> arrays;
  if (parts.embedding) arrays.push_back({"embedding", record.embedding, {record.embedding.size()}});
  if (parts.last_hidden_state) {
    arrays.push_back({"last_hidden_state", record.last_hidden_state, {tokens, schema.d_model}});
  }
  if (parts.hidden_states) {
    arrays.push_back({"hidden_states", record.hidden_states, {schema.n_layers + 1, tokens, schema.d_model}});
  }
  if (parts.attentions) {
    arrays.push_back(
        {"attentions", record.attentions, {schema.layers.size(), schema.heads.size(), tokens, tokens}});
  }
  return arrays;
}

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

class RawFormatter : public RecordFormatter {
 public:
  explicit RawFormatter(RecordSchema schema) : schema_(std::move(schema)) {}
  void render(const Record& record, std::string& out) const override {
    if (record.bad()) return;
    for (const Array& array : arrays_of(record, schema_)) out += bytes_of(array.values);
  }

 private:
  RecordSchema schema_;
};

}  // namespace

std::unique_ptr<RecordFormatter> raw_formatter(RecordSchema schema) {
  return std::make_unique<RawFormatter>(std::move(schema));
}

}  // namespace mha
