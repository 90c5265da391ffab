#include "tokenizer/truncation.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "mha/core/error.hpp"

namespace mha::tokenizer {
namespace {

// tokenizer/encoding.rs, truncate.
std::vector<TokenRange> cut(std::size_t size, std::size_t max_length, const EncodeOptions& options) {
  if (max_length >= size) return {{0, size}};
  const bool head = options.keep == TruncationSide::head;
  if (max_length == 0) {
    if (options.stride) return {{0, 0}, {0, size}};
    return {{0, 0}};
  }
  if (!options.stride) {
    if (head) return {{0, max_length}};
    return {{size - max_length, size}};
  }
  if (*options.stride >= max_length) {
    throw_usage("tokenizer: stride: expected less than the " + std::to_string(max_length) +
                " tokens that a window keeps, got " + std::to_string(*options.stride));
  }
  const std::size_t step = max_length - *options.stride;
  std::vector<TokenRange> ranges;
  if (head) {
    for (std::size_t begin = 0;; begin += step) {
      ranges.push_back({begin, std::min(begin + max_length, size)});
      if (ranges.back().end == size) return ranges;
    }
  }
  for (std::size_t end = size;; end -= step) {
    ranges.push_back({end > max_length ? end - max_length : 0, end});
    if (ranges.back().begin == 0) return ranges;
  }
}

// The text that the strategy names gives all the tokens that are too many.
void shorten_one(std::size_t (&keep)[2], bool has_pair, std::size_t excess, bool only_first) {
  if (!only_first && !has_pair) {
    throw_input("tokenizer: truncation: expected a second text to cut, got one text");
  }
  std::size_t& target = keep[only_first ? 0 : 1];
  if (target <= excess) {
    throw_input("tokenizer: truncation: expected a " + std::string(only_first ? "first" : "second") +
                " text of more than " + std::to_string(excess) + " tokens, so that some are left, got " +
                std::to_string(target));
  }
  target -= excess;
}

// The longer text gives tokens until both have the same length, then both give.
void shorten_longest(std::size_t (&keep)[2], std::size_t room) {
  const bool swapped = keep[0] > keep[1];
  std::size_t shorter = std::min(keep[0], keep[1]);
  std::size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
  if (shorter + longer > room) {
    shorter = room / 2;
    longer = shorter + room % 2;
  }
  keep[0] = swapped ? longer : shorter;
  keep[1] = swapped ? shorter : longer;
}

}  // namespace

KeptRanges truncate(std::size_t first, std::optional<std::size_t> second, std::size_t room,
                    const EncodeOptions& options) {
  std::size_t keep[2] = {first, second.value_or(0)};
  const std::size_t total = keep[0] + keep[1];
  if (room == 0) {
    keep[0] = keep[1] = 0;
  } else if (total > room) {
    if (options.strategy != TruncationStrategy::longest_first) {
      shorten_one(keep, second.has_value(), total - room, options.strategy == TruncationStrategy::only_first);
    } else if (!second) {
      keep[0] = room;
    } else {
      shorten_longest(keep, room);
    }
  }
  return {{cut(first, keep[0], options), cut(second.value_or(0), keep[1], options)}};
}

}  // namespace mha::tokenizer
