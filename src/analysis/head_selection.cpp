#include "analysis/head_selection.hpp"

#include <charconv>
#include <string>

#include "mha/core/error.hpp"

namespace mha {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

[[noreturn]] void refuse(std::string_view option, std::string_view got, std::string_view expected) {
  throw_usage(std::string(option) + ": expected " + std::string(expected) + ", got \"" + std::string(got) + '"');
}

// Reads a whole number that may be negative and moves behind it.
bool read_index(std::string_view& text, long& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool read_range(std::string_view text, IndexRange& range) {
  if (!read_index(text, range.first)) return false;
  range.last = range.first;
  if (text.empty()) return true;
  if (text.front() != '-') return false;
  text.remove_prefix(1);
  return read_index(text, range.last) && text.empty();
}

std::size_t absolute(long index, std::size_t count, std::string_view option) {
  const auto signed_count = static_cast<long>(count);
  if (index < -signed_count || index >= signed_count) {
    throw_usage(std::string(option) + ": expected a number from 0 to " + std::to_string(signed_count - 1) + " (or -" +
                std::to_string(signed_count) + " to -1 from the end), got " + std::to_string(index));
  }
  return static_cast<std::size_t>(index < 0 ? index + signed_count : index);
}

}  // namespace

IndexRanges parse_ranges(std::string_view text, std::string_view option) {
  IndexRanges ranges;
  for (const std::string_view part : split(text, ',')) {
    IndexRange range;
    if (!read_range(part, range)) refuse(option, text, "numbers and ranges such as 0,3-5,-1");
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<HeadPattern> parse_ablate(std::string_view text, std::string_view option) {
  constexpr std::string_view kExpected = "layer.head entries such as 0.3,1.*";
  std::vector<HeadPattern> patterns;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dot = part.find('.');
    if (dot == std::string_view::npos) refuse(option, text, kExpected);
    const auto side = [&](std::string_view word) -> std::optional<IndexRange> {
      if (word == "*") return std::nullopt;
      IndexRange range;
      if (!read_range(word, range)) refuse(option, text, kExpected);
      return range;
    };
    patterns.push_back({side(part.substr(0, dot)), side(part.substr(dot + 1))});
  }
  return patterns;
}

std::vector<std::size_t> resolve(const IndexRanges& ranges, std::size_t count, std::string_view option) {
  std::vector<bool> chosen(count, ranges.empty());
  for (const IndexRange& range : ranges) {
    const std::size_t first = absolute(range.first, count, option);
    const std::size_t last = absolute(range.last, count, option);
    if (first > last) {
      throw_usage(std::string(option) + ": expected a range that ascends, got " + std::to_string(range.first) + "-" +
                  std::to_string(range.last));
    }
    for (std::size_t i = first; i <= last; ++i) chosen[i] = true;
  }
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < count; ++i) {
    if (chosen[i]) indices.push_back(i);
  }
  return indices;
}

std::vector<std::uint8_t> resolve_ablated(const std::vector<HeadPattern>& patterns, std::size_t n_layers,
                                          std::size_t n_heads, std::string_view option) {
  if (patterns.empty()) return {};
  std::vector<std::uint8_t> ablated(n_layers * n_heads, 0);
  const auto indices = [option](const std::optional<IndexRange>& range, std::size_t count, const char* what) {
    return resolve(range ? IndexRanges{*range} : IndexRanges{}, count, std::string(option) + what);
  };
  for (const HeadPattern& pattern : patterns) {
    for (const std::size_t layer : indices(pattern.layer, n_layers, ": layer")) {
      for (const std::size_t head : indices(pattern.head, n_heads, ": head")) ablated[layer * n_heads + head] = 1;
    }
  }
  return ablated;
}

}  // namespace mha
