#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/arrow_stream.hpp"
#include "output/records.hpp"

namespace mha {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{1} << 20;

/// Sentence vectors as columns. Rows wait for a batch of a mebibyte, or for the end.
class ArrowFormatter : public RecordFormatter {
 public:
  explicit ArrowFormatter(RecordSchema schema) : schema_(std::move(schema)), stream_(columns()) {}

  void begin(OutputStream& out) override { out.write(stream_.begin()); }
  void render(const Record&, std::string&) const override {}
  void join(const Record& record, OutputStream& out) override {
    stream_.add(*index_, static_cast<std::int64_t>(record.input.index));
    if (id_ && !record.input.id_json.empty()) stream_.add(*id_, std::string_view(record.input.id_json));
    if (window_ && record.window) {
      stream_.add(*window_, static_cast<std::int64_t>(record.window->number));
      stream_.add(*window_ + 1, static_cast<std::int64_t>(record.window->begin));
      stream_.add(*window_ + 2, static_cast<std::int64_t>(record.window->end));
    }
    if (text_ && !record.bad()) stream_.add(*text_, std::string_view(record.input.text));
    if (extra_ && !record.input.extra_json.empty())
      stream_.add(*extra_, std::string_view('{' + record.input.extra_json + '}'));
    if (record.bad()) {
      if (error_) stream_.add(*error_, std::string_view(record.input.error));
    } else {
      add_vector(record.embedding);
    }
    stream_.end_row();
    if (stream_.bytes() >= kBatchBytes) out.write(stream_.batch());
  }
  void end(OutputStream& out) override {
    if (stream_.rows() > 0) out.write(stream_.batch());
    out.write(ArrowStream::end());
  }

 private:
  using Type = ArrowStream::Type;

  std::vector<ArrowStream::Column> columns() {
    std::vector<ArrowStream::Column> columns;
    const auto add = [&columns](std::optional<std::size_t>& place, const char* name, Type type, std::size_t width = 0) {
      if (!place) place = columns.size();
      columns.push_back({name, type, width});
    };
    add(index_, "index", Type::int64);
    if (schema_.ids) add(id_, "id", Type::text);
    if (schema_.windows) {
      for (const char* const name : {"window", "begin", "end"}) add(window_, name, Type::int64);
    }
    if (schema_.parts.text) add(text_, "text", Type::text);
    if (schema_.extra) add(extra_, "extra", Type::text);
    if (schema_.parts.embedding) add(vector_, "embedding", vector_type(), schema_.embedding_width);
    if (schema_.errors) add(error_, "error", Type::text);
    return columns;
  }

  Type vector_type() const {
    if (schema_.embedding_type == EmbeddingType::float32) return Type::float32_list;
    return schema_.embedding_type == EmbeddingType::int8 ? Type::int8_list : Type::uint8_list;
  }

  void add_vector(std::span<const float> values) {
    if (!vector_) return;
    if (schema_.embedding_type == EmbeddingType::float32) return stream_.add(*vector_, values);
    bytes_.clear();
    for (const float value : values) {
      bytes_.push_back(static_cast<std::uint8_t>(static_cast<int>(value)));
    }
    stream_.add(*vector_, std::span<const std::uint8_t>(bytes_));
  }

  RecordSchema schema_;
  std::optional<std::size_t> index_, id_, window_, text_, extra_, vector_, error_;  // places of the columns
  ArrowStream stream_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

std::unique_ptr<RecordFormatter> arrow_formatter(RecordSchema schema) {
  return std::make_unique<ArrowFormatter>(std::move(schema));
}

}  // namespace mha
