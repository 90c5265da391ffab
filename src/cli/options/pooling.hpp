#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "cli/options/group.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {

/// How token vectors become one sentence vector.
struct PoolingOptions {
  std::vector<PoolingMode> modes;  ///< empty: what the model says
  std::optional<bool> normalize;   ///< empty: what the model says
  std::size_t dims = 0;            ///< 0: all
};

extern const OptionGroup kPooling;

}  // namespace mha::cli
