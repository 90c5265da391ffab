#include "output/format.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace mha {
namespace {

using Schema = const RecordSchema&;
using Name = const std::string&;

constexpr FormatInfo kFormats[] = {
    {.format = Format::table,
     .name = "table",
     .ending = "",
     .make = [](Schema schema, Name) { return table_formatter(schema); },
     .has_errors = true},
    {.format = Format::json,
     .name = "json",
     .ending = ".json",
     .make = [](Schema schema, Name) { return json_formatter(schema); },
     .has_errors = true,
     .resumes = true},
    {.format = Format::jsonl,
     .name = "jsonl",
     .ending = ".jsonl",
     .make = [](Schema schema, Name) { return jsonl_formatter(schema); },
     .has_errors = true,
     .resumes = true},
    {.format = Format::csv,
     .name = "csv",
     .ending = ".csv",
     .make = [](Schema schema, Name) { return csv_formatter(schema); },
     .delimited = true,
     .has_errors = true,
     .resumes = true},
    {.format = Format::tsv,
     .name = "tsv",
     .ending = ".tsv",
     .make = [](Schema schema, Name) { return tsv_formatter(schema); },
     .delimited = true,
     .has_errors = true,
     .resumes = true},
    {.format = Format::npy,
     .name = "npy",
     .ending = ".npy",
     .make = [](Schema schema, Name) { return npy_formatter(schema); },
     .one_array = true,
     .one_input = true,
     .binary = true,
     .resumes = true},
    {.format = Format::npz,
     .name = "npz",
     .ending = ".npz",
     .make = [](Schema schema, Name) { return npz_formatter(schema); },
     .binary = true},
    {.format = Format::raw,
     .name = "raw",
     .ending = ".raw",
     .make = [](Schema schema, Name) { return raw_formatter(schema); },
     .one_array = true,
     .binary = true,
     .resumes = true},
    {.format = Format::arrow,
     .name = "arrow",
     .ending = ".arrows",
     .make = [](Schema schema, Name) { return arrow_formatter(schema); },
     .has_errors = true,
     .binary = true},
    {.format = Format::ids, .name = "ids", .ending = "", .make = [](Schema, Name) { return ids_formatter(); }},
    {.format = Format::heatmap,
     .name = "heatmap",
     .ending = "",
     .make = [](Schema schema, Name) { return table_formatter(schema); },
     .drawn = true,
     .has_errors = true},
    {.format = Format::html,
     .name = "html",
     .ending = ".html",
     .make = [](Schema schema, Name model) { return html_formatter(schema, model); },
     .one_input = true,
     .drawn = true},
    {.format = Format::svg,
     .name = "svg",
     .ending = ".svg",
     .make = [](Schema schema, Name model) { return svg_formatter(schema, model); },
     .one_input = true,
     .drawn = true},
    {.format = Format::png,
     .name = "png",
     .ending = ".png",
     .make = [](Schema schema, Name model) { return png_formatter(schema, model); },
     .one_input = true,
     .drawn = true,
     .binary = true},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kFormats); ++i) {
    if (static_cast<std::size_t>(kFormats[i].format) != i) return false;
  }
  return true;
}
static_assert(in_order(), "rows are found by their place");

}  // namespace

std::span<const FormatInfo> formats() { return kFormats; }

const FormatInfo& info(Format format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<Format> format_by_ending(std::string_view file) {
  for (const FormatInfo& format : kFormats) {
    if (!format.ending.empty() && file.size() > format.ending.size() && file.ends_with(format.ending))
      return format.format;
  }
  return std::nullopt;
}

}  // namespace mha
