#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/options/group.hpp"
#include "output/format.hpp"
#include "output/records.hpp"

namespace mha::cli {

/// What is written, and where to.
struct OutputOptions {
  std::optional<Format> format;  ///< empty: by the ending of `file`, else the command's first
  std::optional<Parts> parts;    ///< `--with`
  OffsetUnit offsets = OffsetUnit::code_points;
  std::optional<int> digits;
  std::string file;  ///< empty or "-": stdout
  bool resume = false;

  bool to_stdout() const { return file.empty() || file == "-"; }
};

extern const OptionGroup kOutput;   ///< --format, --output, --digits
extern const OptionGroup kParts;    ///< --with, --offsets
extern const OptionGroup kOffsets;  ///< --offsets
extern const OptionGroup kResume;   ///< --resume

/// `--format` alone.
void declare_format(OptionList& list, Options& options, std::string_view help);

/// What to warn of if the ending of `--output` names another format than the one that is written; else empty.
std::string ending_notice(const Options& options);

Parts parse_parts(std::string_view text);

}  // namespace mha::cli
