#include "output/search_results.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/json_writer.hpp"
#include "core/numbers.hpp"
#include "output/delimited.hpp"
#include "output/terminal_text.hpp"

namespace mha {
namespace {

// The colours of grep and ripgrep, in the order path, line, separator.
constexpr std::string_view kPath = "\x1b[35m";
constexpr std::string_view kLine = "\x1b[32m";
constexpr std::string_view kFaint = "\x1b[2m";
constexpr std::string_view kReset = "\x1b[0m";
constexpr int kScoreDigits = 4;

// Line ends and runs of blanks as one blank: a passage on one line.
std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace

SearchWriter::SearchWriter(const SearchLayout& layout, OutputStream& out) : layout_(layout), out_(out) {}

void SearchWriter::begin() {
  const Format format = layout_.format;
  if (format == Format::json) out_.write("[");
  if (format != Format::csv && format != Format::tsv) return;
  const Dialect& dialect = format == Format::csv ? kCsv : kTsv;
  std::string header;
  if (layout_.several_queries) header = std::string("query") + dialect.separator;
  for (const char* const column : {"rank", "path", "line", "last_line", "score", "id", "text"}) {
    header += column;
    header += dialect.separator;
  }
  header.back() = '\n';
  out_.write(header);
}

void SearchWriter::write(std::string_view query, const std::vector<SearchHit>& hits) {
  if (layout_.paths_only) {
    std::set<std::string> seen;
    for (const SearchHit& hit : hits) {
      if (!seen.insert(hit.path).second) continue;
      out_.write(layout_.null_after_path ? hit.path : escape_controls(hit.path));
      out_.write(layout_.null_after_path ? std::string_view("\0", 1) : std::string_view("\n"));
    }
    return;
  }
  if (layout_.format == Format::table && layout_.several_queries) {
    out_.write((any_ ? "\n# " : "# ") + escape_controls(on_one_line(query)) + "\n");
    any_ = true;
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    switch (layout_.format) {
      case Format::json:
        out_.write((any_ ? ",\n" : "\n") + object(query, i + 1, hits[i]));
        any_ = true;
        break;
      case Format::jsonl:
        out_.write(object(query, i + 1, hits[i]) + '\n');
        break;
      case Format::csv:
      case Format::tsv:
        write_row(query, i + 1, hits[i]);
        break;
      default:
        if (i > 0 && (!hits[i].before.empty() || !hits[i].after.empty())) out_.write("--\n");
        write_line(hits[i]);
    }
  }
  out_.flush();
}

void SearchWriter::end() {
  if (layout_.format == Format::json) out_.write(any_ ? "\n]\n" : "]\n");
}

void SearchWriter::write_line(const SearchHit& hit) {
  const bool color = layout_.color != ColorDepth::none;
  write_context(hit, hit.before, hit.line - std::min(hit.line, hit.before.size()));
  std::string score;
  append_float(score, static_cast<float>(hit.score), layout_.digits.value_or(kScoreDigits));
  const std::string path = layout_.null_after_path ? hit.path : escape_controls(hit.path);
  const std::string line = std::to_string(hit.line);
  std::string text = escape_controls(on_one_line(hit.text));
  if (layout_.columns > 0) {
    const std::size_t around = display_width(path) + line.size() + score.size() + 6;
    text = fit(text, layout_.columns > around + 10 ? layout_.columns - around : 10);
  }
  std::string out;
  out += color ? std::string(kPath) + path + std::string(kReset) : path;
  out += layout_.null_after_path ? '\0' : ':';
  out += color ? std::string(kLine) + line + std::string(kReset) : line;
  out += ": " + text + '\t';
  out += color ? std::string(kFaint) + score + std::string(kReset) : score;
  out_.write(out + '\n');
  write_context(hit, hit.after, hit.last_line + 1);
}

void SearchWriter::write_context(const SearchHit& hit, const std::vector<std::string>& lines, std::size_t first) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string path = layout_.null_after_path ? hit.path + '\0' : escape_controls(hit.path) + '-';
    out_.write(path + std::to_string(first + i) + "- " + escape_controls(lines[i]) + '\n');
  }
}

std::string SearchWriter::object(std::string_view query, std::size_t rank, const SearchHit& hit) const {
  std::string out;
  JsonWriter json(out, layout_.digits);
  json.begin_object();
  if (layout_.several_queries) json.member("query", query);
  json.member("rank", rank).member("path", hit.path).member("line", hit.line).member("last_line", hit.last_line);
  if (!hit.id.empty()) json.key("id").raw(hit.id);
  json.member("score", static_cast<float>(hit.score));
  if (hit.vector_rank) json.member("vector_rank", *hit.vector_rank);
  if (hit.word_rank) json.member("word_rank", *hit.word_rank);
  json.member("text", hit.text);
  const auto lines = [&](const char* key, const std::vector<std::string>& values) {
    if (!values.empty()) json.key(key).list(values, [&](const std::string& value) { json.text(value); });
  };
  lines("before", hit.before);
  lines("after", hit.after);
  if (!hit.extra.empty()) json.raw(hit.extra);
  json.end_object();
  return out;
}

void SearchWriter::write_row(std::string_view query, std::size_t rank, const SearchHit& hit) {
  const Dialect& dialect = layout_.format == Format::csv ? kCsv : kTsv;
  std::string row;
  const auto field = [&](std::string_view value) {
    dialect.append_field(row, value);
    row += dialect.separator;
  };
  if (layout_.several_queries) field(query);
  field(std::to_string(rank));
  field(hit.path);
  field(std::to_string(hit.line));
  field(std::to_string(hit.last_line));
  std::string score;
  const auto value = static_cast<float>(hit.score);
  layout_.digits ? append_float(score, value, *layout_.digits) : append_float(score, value);
  field(score);
  field(hit.id.starts_with('"') ? std::string_view(hit.id).substr(1, hit.id.size() - 2) : std::string_view(hit.id));
  field(hit.text);
  row.back() = '\n';
  out_.write(row);
}

}  // namespace mha
