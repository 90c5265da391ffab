#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace mha {

/// `1`, `0-2`, `-1`: both ends included, negative counts from the end.
struct IndexRange {
  long first = 0;
  long last = 0;
};
using IndexRanges = std::vector<IndexRange>;

/// One entry of a list of ablated heads: an empty range stands for `*`.
struct HeadPattern {
  std::optional<IndexRange> layer;
  std::optional<IndexRange> head;
};

/// `0,3-5,-1`. Throws Error{usage} that names `option`.
IndexRanges parse_ranges(std::string_view text, std::string_view option);
/// `0.3,1.*`. Throws Error{usage} that names `option`.
std::vector<HeadPattern> parse_ablate(std::string_view text, std::string_view option);

/// Indices below `count` that the ranges choose, ascending, each once; all if there are no ranges.
/// Throws Error{usage} that names `option` and the range that is allowed.
std::vector<std::size_t> resolve(const IndexRanges& ranges, std::size_t count, std::string_view option);

/// [n_layers · n_heads] marks of ablated heads; empty for none. Throws Error{usage} that names `option`.
std::vector<std::uint8_t> resolve_ablated(const std::vector<HeadPattern>& patterns, std::size_t n_layers,
                                          std::size_t n_heads, std::string_view option);

}  // namespace mha
