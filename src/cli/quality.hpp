#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mha::cli {

/// Two texts and how alike people found them.
struct RatedPair {
  double score = 0;
  std::string first;
  std::string second;
};

/// Rows of `score TAB text TAB text`, further columns ignored. Throws Error{input} that names file and line.
std::vector<RatedPair> read_rated_pairs(const std::string& file);

/// Spearman's rank correlation, ties with their mean rank; 0 if one side is constant.
double spearman(std::span<const double> a, std::span<const double> b);

}  // namespace mha::cli
