#include "cli/quality.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/numbers.hpp"
#include "io/text_reader.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + end - 1) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

}  // namespace

std::vector<RatedPair> read_rated_pairs(const std::string& file) {
  TextReader reader = TextReader::from_files({file}, {.format = InputFormat::lines});
  std::vector<RatedPair> pairs;
  for (Input line; reader.next(line);) {
    if (!line.error.empty()) throw_input(line.error);
    const std::string_view text = line.text;
    const std::size_t first = text.find('\t');
    const std::size_t second = first == std::string_view::npos ? first : text.find('\t', first + 1);
    RatedPair pair;
    if (second == std::string_view::npos || !parse_double(text.substr(0, first), pair.score)) {
      throw_input(line.place() + ": expected score, tab, text, tab, text");
    }
    pair.first = text.substr(first + 1, second - first - 1);
    pair.second = text.substr(second + 1, text.find('\t', second + 1) - second - 1);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

double spearman(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> ranks_a = ranks(a);
  const std::vector<double> ranks_b = ranks(b);
  const double mean = (static_cast<double>(a.size()) - 1) / 2;
  double product = 0;
  double squares_a = 0;
  double squares_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product += (ranks_a[i] - mean) * (ranks_b[i] - mean);
    squares_a += (ranks_a[i] - mean) * (ranks_a[i] - mean);
    squares_b += (ranks_b[i] - mean) * (ranks_b[i] - mean);
  }
  const double squares = squares_a * squares_b;
  return squares > 0 ? product / std::sqrt(squares) : 0;
}

}  // namespace mha::cli
