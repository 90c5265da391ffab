#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "analysis/comparison.hpp"
#include "io/output_stream.hpp"
#include "output/format.hpp"

namespace mha {

/// Writes comparisons as they come, as table, JSON, JSON Lines, CSV or TSV. JSON is one object for one comparison and
/// an array for more.
class ComparisonReport {
 public:
  /// `columns`: width of tables. `out` must outlive the report.
  ComparisonReport(Format format, std::optional<int> digits, std::size_t columns, OutputStream& out)
      : format_(format), digits_(digits), columns_(columns), out_(out) {}

  /// `title` names both sides. `within`: nothing is over the tolerance.
  void add(const Comparison& comparison, const std::string& title, bool within);
  void finish();

 private:
  void write_rows(const Comparison& comparison);

  Format format_;
  std::optional<int> digits_;
  std::size_t columns_;
  OutputStream& out_;
  std::string first_;  // JSON of the first comparison, until it is known whether there are more
  std::size_t count_ = 0;
};

}  // namespace mha
