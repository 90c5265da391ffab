#include "cli/terminal.hpp"

#include <sys/ioctl.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace mha::cli {
namespace {

constexpr std::size_t kDefaultColumns = 80;
constexpr std::size_t kMostColumns = 10000;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  const std::string_view text = environment("COLUMNS");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc() && end == text.data() + text.size() && columns > 0 && columns <= kMostColumns)
    return columns;
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultColumns;
}

bool writes_to_terminal(const OutputOptions& output) { return output.to_stdout() && isatty(STDOUT_FILENO) != 0; }

std::string scratch_folder() {
  const std::string_view folder = environment("TMPDIR");
  return folder.empty() ? "/tmp" : std::string(folder);
}

ColorDepth color_depth(When color, int descriptor) {
  const std::string_view term = environment("TERM");
  const bool wanted = color == When::always || (color == When::automatic && isatty(descriptor) != 0 && term != "dumb" &&
                                                environment("NO_COLOR").empty());
  if (!wanted) return ColorDepth::none;
  const std::string_view colors = environment("COLORTERM");
  if (colors == "truecolor" || colors == "24bit") return ColorDepth::truecolor;
  const bool plain = term == "linux" || term == "xterm" || term == "ansi" || term == "vt100";
  return plain ? ColorDepth::ansi16 : ColorDepth::ansi256;
}

}  // namespace mha::cli
