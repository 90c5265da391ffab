#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "output/records.hpp"

namespace mha {

enum class Format { table, json, jsonl, csv, tsv, npy, npz, raw, arrow, ids, heatmap, html, svg, png };

/// What the program has to know of an output format. One row per format in format.cpp.
struct FormatInfo {
  Format format;
  std::string_view name;    ///< as `--format` takes it
  std::string_view ending;  ///< of files, with its dot; empty: no file is taken for it by its name
  /// Makes the formatter of records; `model` is named on pages and pictures.
  std::unique_ptr<RecordFormatter> (*make)(const RecordSchema& schema, const std::string& model);

  bool delimited = false;   ///< rows of fields under a header
  bool one_array = false;   ///< holds a single array: one part of a record
  bool one_input = false;   ///< holds one input; with one_array: unless the vectors of all inputs are the array
  bool drawn = false;       ///< attention maps as a page or picture, no numbers
  bool has_errors = false;  ///< has room for the error of a bad input
  bool binary = false;      ///< is no text: not for a terminal
  bool resumes = false;     ///< an unfinished file can be continued behind any record; npy: of sentence vectors
};

/// All formats, in the order of the enumeration.
std::span<const FormatInfo> formats();
const FormatInfo& info(Format format);

/// The format of a file of that name; empty: its ending is of none.
std::optional<Format> format_by_ending(std::string_view file);

}  // namespace mha
