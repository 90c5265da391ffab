#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/options/group.hpp"

namespace mha::cli {

/// `1`, `0-2`, `-1`: both ends included, negative counts from the end.
struct IndexRange {
  long first = 0;
  long last = 0;
};
using IndexRanges = std::vector<IndexRange>;

/// One entry of `--ablate`: an empty range stands for `*`.
struct HeadPattern {
  std::optional<IndexRange> layer;
  std::optional<IndexRange> head;
};

/// Which layers and heads are looked at, and which heads contribute nothing.
struct HeadOptions {
  IndexRanges layers;  ///< empty: all
  IndexRanges heads;   ///< empty: all
  std::vector<HeadPattern> ablate;
};

extern const OptionGroup kSelection;  ///< --layer, --head
extern const OptionGroup kAblation;   ///< --ablate

/// `0,3-5,-1`. Throws Error{usage} that names `option`.
IndexRanges parse_ranges(std::string_view text, std::string_view option);
/// `0.3,1.*`
std::vector<HeadPattern> parse_ablate(std::string_view text);

/// Indices below `count` that the ranges choose, ascending, each once; all if there are no ranges.
/// Throws Error{usage} that names `option` and the range that is allowed.
std::vector<std::size_t> resolve(const IndexRanges& ranges, std::size_t count, std::string_view option);

/// [n_layers · n_heads] marks of ablated heads; empty for none.
std::vector<std::uint8_t> resolve_ablated(const std::vector<HeadPattern>& patterns, std::size_t n_layers,
                                          std::size_t n_heads);

}  // namespace mha::cli
