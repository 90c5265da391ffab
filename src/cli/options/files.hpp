#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/group.hpp"

namespace mha::cli {

/// Which files are searched or indexed, and how their text becomes passages.
struct FileOptions {
  std::vector<std::string> globs;
  bool hidden = false;
  bool no_ignore = false;
  std::optional<std::size_t> passage_tokens;  ///< special tokens and prompt included
  bool by_line = false;
};

extern const OptionGroup kFiles;

}  // namespace mha::cli
