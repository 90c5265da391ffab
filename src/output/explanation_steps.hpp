#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mha/output/explanation.hpp"

namespace mha {

/// A matrix that a step shows, with its name and shape in the words of the text it belongs to.
struct ShownMatrix {
  std::string caption;           ///< "Q of head 0 = X · Wq: (5, 8)"
  const float* values = nullptr; ///< [rows][columns]
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool keys = false;             ///< columns are tokens
};

/// One step of the story: heading, sentences, matrices and closing lines, the same for table and page.
struct ExplanationStep {
  std::string heading;
  std::string analogy;                 ///< the step in the picture of the biography and the CV
  std::vector<std::string> sentences;
  std::vector<ShownMatrix> matrices;
  std::string findings_title;
  std::vector<std::string> findings;   ///< what this input's numbers say, one a line
};

/// How a token is named in sentences.
std::string display_name(const MapLabel& label);

/// The five steps of multi-head attention, then what the block does with the result, for the token that is followed.
std::vector<ExplanationStep> explanation_steps(const Explanation& explanation, std::size_t token);

}  // namespace mha
