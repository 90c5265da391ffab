#include "cli/resume.hpp"

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>

#include "cli/log.hpp"
#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

/// Every record begins with its index.
std::size_t index_of(std::string_view line, const std::filesystem::path& file, std::size_t begin) {
  constexpr std::string_view kKey = "{\"index\":";
  std::size_t index = 0;
  if (line.starts_with(kKey)) {
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + kKey.size(), end, index);
    if (error == std::errc() && stop != end && (*stop == ',' || *stop == '}')) return index;
  }
  throw_output(path_text(file) + ": byte " + std::to_string(begin) +
               ": expected a record of an earlier run, got something else; remove the file to begin anew");
}

}  // namespace

bool is_finished(const OutputOptions& options, Log& log) {
  if (!options.resume) return false;
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(options.file, error);  // the unfinished file lies beside it
  const bool finished =
      std::filesystem::is_regular_file(file, error) && !std::filesystem::exists(file += ".partial", error);
  if (finished) log.warning(options.file + ": is there already; nothing to resume");
  return finished;
}

std::size_t resume_records(OutputStream& out) {
  const MappedFile file(out.partial(), ErrorKind::output);
  const std::string_view text = file.text();
  std::size_t end = text.rfind('\n') + 1;  // a line that was not written whole is none
  std::size_t index = 0;
  bool any = false;
  while (end > 0) {
    const std::size_t before = end > 1 ? text.rfind('\n', end - 2) : std::string_view::npos;
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t found = index_of(text.substr(begin, end - 1 - begin), out.partial(), begin);
    if (any && found != index) break;
    any = true;
    index = found;
    end = begin;
  }
  out.keep_first(end);
  return index;
}

}  // namespace mha::cli
