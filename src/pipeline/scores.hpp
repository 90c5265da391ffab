#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mha {

/// exp(x) / Σ exp(x), without overflow; sums run in double.
std::vector<float> softmax_of(std::span<const float> logits);

/// 1 / (1 + exp(−x)).
float sigmoid_of(float logit);

/// Indices of the `count` largest values, largest first, the lower index first among equals.
std::vector<std::size_t> largest(std::span<const float> values, std::size_t count);

/// Index of the first largest value; 0 if there is none.
std::size_t first_largest(std::span<const float> values);

/// A range of tokens, both ends included.
struct TokenSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  float score = 0;
};

/// The `count` best spans: start and end in `allowed`, at most `longest` tokens, by the product of the probabilities of
/// start and end. Probabilities are over the tokens that are `counted` (which may be more).
/// transformers 4.57, pipelines/question_answering.py: select_starts_ends, decode_spans.
std::vector<TokenSpan> best_spans(std::span<const float> start, std::span<const float> end,
                                  const std::vector<bool>& counted, const std::vector<bool>& allowed,
                                  std::size_t longest, std::size_t count);

}  // namespace mha
