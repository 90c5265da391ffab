#include "cli/formats.hpp"

#include "cli/declare.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

using Schema = const RecordSchema&;
using Name = const std::string&;

struct FormatRow {
  Format format;
  std::unique_ptr<RecordFormatter> (*make)(Schema schema, Name model);
};

/// Every output format and who makes it. What a command takes of these stands in its Command.
constexpr FormatRow kFormats[] = {
    {Format::table, [](Schema schema, Name) { return table_formatter(schema); }},
    {Format::json, [](Schema schema, Name) { return json_formatter(schema); }},
    {Format::jsonl, [](Schema schema, Name) { return jsonl_formatter(schema); }},
    {Format::csv, [](Schema schema, Name) { return csv_formatter(schema); }},
    {Format::tsv, [](Schema schema, Name) { return tsv_formatter(schema); }},
    {Format::npy, [](Schema schema, Name) { return npy_formatter(schema); }},
    {Format::npz, [](Schema schema, Name) { return npz_formatter(schema); }},
    {Format::raw, [](Schema schema, Name) { return raw_formatter(schema); }},
    {Format::ids, [](Schema, Name) { return ids_formatter(); }},
    {Format::heatmap, [](Schema schema, Name) { return table_formatter(schema); }},
    {Format::html, [](Schema schema, Name model) { return html_formatter(schema, model); }},
    {Format::svg, [](Schema schema, Name model) { return svg_formatter(schema, model); }},
    {Format::png, [](Schema schema, Name model) { return png_formatter(schema, model); }},
};

}  // namespace

std::unique_ptr<RecordFormatter> make_formatter(Format format, const RecordSchema& schema, const std::string& model) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) return row.make(schema, model);
  }
  throw_internal("format: no formatter for " + std::string(format_name(format)));
}

}  // namespace mha::cli
