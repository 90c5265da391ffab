#pragma once

#include <cstddef>
#include <optional>

#include "cli/options/group.hpp"

namespace mha::cli {

/// How long texts are cut into windows, each with a vector of its own.
struct WindowOptions {
  std::size_t tokens = 0;              ///< --chunk; 0: none
  std::optional<std::size_t> overlap;  ///< --stride
  bool late = false;
  bool joined = false;  ///< --chunk-pooling mean

  bool asked() const { return tokens > 0 || late; }
};

extern const OptionGroup kWindows;

}  // namespace mha::cli
