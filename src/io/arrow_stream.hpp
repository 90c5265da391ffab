#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mha {

/// Rows as an Apache Arrow IPC stream (https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format), which
/// pyarrow, polars and duckdb read from a file or a pipe: `begin`, then a batch of rows at a time, then `end`.
/// Threads: one at a time.
class ArrowStream {
 public:
  /// Types of columns. Lists hold numbers without nulls.
  enum class Type { int64, text, float32_list, int8_list, uint8_list };

  struct Column {
    std::string name;
    Type type = Type::int64;
    std::size_t width = 0;  ///< numbers in each list: a fixed-size list; 0: lists of any length
  };

  /// `metadata`: keys and values of the schema.
  explicit ArrowStream(std::vector<Column> columns, std::vector<std::pair<std::string, std::string>> metadata = {});

  // Values of one row, one per column, in any order of columns; what is not added is null.
  void add(std::size_t column, std::int64_t value);
  void add(std::size_t column, std::string_view text);
  void add(std::size_t column, std::span<const float> list);
  void add(std::size_t column, std::span<const std::uint8_t> bytes);  ///< int8 lists as their bytes
  void end_row();

  std::size_t rows() const { return rows_; }
  /// Bytes of the values that wait.
  std::size_t bytes() const;

  /// The schema.
  std::string begin() const;
  /// The rows since the last batch.
  std::string batch();
  /// The end of the stream.
  static std::string end();

 private:
  struct Values {
    std::string data;                   // numbers or text
    std::vector<std::int32_t> ends{0};  // of texts and lists of any length, in elements
    std::vector<std::uint8_t> valid;    // one byte per row
    std::size_t nulls = 0;
  };
  std::size_t element_bytes(const Column& column) const;
  void end_value(std::size_t column, bool valid);

  std::vector<Column> columns_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<Values> values_;
  std::size_t rows_ = 0;
};

}  // namespace mha
