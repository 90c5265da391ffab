#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/output_stream.hpp"
#include "output/format.hpp"
#include "output/heatmap.hpp"

namespace mha {

/// One passage that a search found.
struct SearchHit {
  std::string path;
  std::size_t line = 0;  ///< 1-based, its first
  std::size_t last_line = 0;
  std::string text;
  std::string id;     ///< JSON text; empty: none
  std::string extra;  ///< members of its record, JSON text `"key":value,…`
  double score = 0;
  std::optional<std::size_t> vector_rank;  ///< 1-based; of a hybrid search
  std::optional<std::size_t> word_rank;
  std::vector<std::string> before;  ///< lines of the file in front of the passage
  std::vector<std::string> after;
};

struct SearchLayout {
  Format format = Format::table;  ///< table: `path:line: text`, a tab and the score
  std::optional<int> digits;
  bool paths_only = false;       ///< each path once
  bool null_after_path = false;  ///< a NUL byte behind each path, for xargs -0
  bool several_queries = false;  ///< each hit says which query found it
  std::size_t columns = 0;       ///< lines of `table` are cut to that width; 0: they are not
  ColorDepth color = ColorDepth::none;
};

/// Writes the hits of query after query. Threads: one at a time.
class SearchWriter {
 public:
  SearchWriter(const SearchLayout& layout, OutputStream& out);
  void begin();
  /// Hits of one query, best first.
  void write(std::string_view query, const std::vector<SearchHit>& hits);
  void end();

 private:
  void write_line(const SearchHit& hit);
  void write_context(const SearchHit& hit, const std::vector<std::string>& lines, std::size_t first);
  std::string object(std::string_view query, std::size_t rank, const SearchHit& hit) const;
  void write_row(std::string_view query, std::size_t rank, const SearchHit& hit);

  SearchLayout layout_;
  OutputStream& out_;
  bool any_ = false;
};

}  // namespace mha
