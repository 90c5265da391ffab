#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "output/explanation.hpp"

namespace mha {

/// A matrix that a step shows, with its name and shape in the words of the text it belongs to.
struct ShownMatrix {
  std::string caption;            ///< "Q of head 0 = X · Wq: (5, 8)"
  const float* values = nullptr;  ///< [rows][columns]
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool keys = false;       ///< columns are tokens
  std::string_view stage;  ///< Stage::name
  std::string what;        ///< of a head's matrix: the caption without head and shape
  std::string row_name;    ///< of a single row that is not a token
};

/// One step of the story: heading, sentences, matrices and closing lines, the same for table and page.
struct ExplanationStep {
  std::string_view name;  ///< input, heads, scores, context, output or block
  std::string heading;
  std::string analogy;  ///< the step in the picture of the biography and the CV
  std::vector<std::string> sentences;
  std::vector<ShownMatrix> matrices;
  std::vector<ShownMatrix> head_matrices;  ///< by stage, of the heads that are shown
  std::string title_before;                ///< of the findings, up to the name of the token
  std::string title_after;                 ///< and from it on
  std::vector<std::string> findings;       ///< statements about this input's numbers, one per line
};

/// If there are many heads, only the matrices of the first two are shown.
inline constexpr std::size_t kShownHeads = 2;

/// The label of a row of a matrix.
std::string row_name(const Explanation& explanation, const ShownMatrix& matrix, std::size_t row);

/// Euclidean length of a row.
double length_of(const float* row, std::size_t columns);

/// How a token is named in sentences.
std::string display_name(const MapLabel& label);

/// The five steps of multi-head attention, then what the block does with the result, for the token that is followed.
std::vector<ExplanationStep> explanation_steps(const Explanation& explanation, std::size_t token);

}  // namespace mha
