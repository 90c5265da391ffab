#pragma once

#include <vector>

#include "analysis/head_selection.hpp"
#include "cli/options/group.hpp"

namespace mha::cli {

/// Which layers and heads are looked at, and which heads contribute nothing.
struct HeadOptions {
  IndexRanges layers;  ///< empty: all
  IndexRanges heads;   ///< empty: all
  std::vector<HeadPattern> ablate;
};

extern const OptionGroup kSelection;  ///< --layer, --head
extern const OptionGroup kAblation;   ///< --ablate

}  // namespace mha::cli
