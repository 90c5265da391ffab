#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mha/analysis/attention_maps.hpp"
#include "mha/encoder/encoder.hpp"
#include "output/heatmap.hpp"

namespace mha {

/// One layer of one input with every step of its computation: what `explain` prints in its three formats.
struct Explanation {
  std::string text;
  std::optional<std::string> text_pair;
  std::string model;
  std::vector<MapLabel> labels;         ///< [T]
  std::vector<std::int32_t> input_ids;  ///< [T]
  std::size_t layer = 0;
  ModelConfig config;              ///< sizes and switches of the model
  std::vector<float> output_bias;  ///< Wo's bias [d_model]; empty: the layer has none
  std::vector<std::size_t> heads;  ///< which heads are shown, in order
  std::vector<Stage> stages;       ///< Captured::stages of the layer, all heads
  std::vector<bool> ablated;       ///< [n_heads]: the head's context is set to zero; empty: none is
  std::size_t full_length = 0;     ///< tokens before the text was cut; 0: it was not

  bool is_ablated(std::size_t head) const { return head < ablated.size() && ablated[head]; }
  /// What was done to the input or the model before these numbers were made: "cut from 138 tokens", "ablated: head 3".
  std::vector<std::string> notes() const;

  /// The step of that name, or nullptr.
  const Stage* stage(std::string_view name) const;
  /// The matrix of a head in a step that has one a head; fewer key and value heads are shared by groups of heads.
  const float* of_head(const Stage& stage, std::size_t head) const {
    return stage.values.data() + head * stage.heads / config.n_heads * stage.rows * stage.cols;
  }
};

struct ExplanationOptions {
  std::size_t columns = 80;
  ColorDepth color = ColorDepth::none;
  std::optional<std::size_t> token;  ///< position of the token that is followed; default: the most telling one
  int digits = -1;                   ///< of JSON numbers; -1: shortest exact text
};

/// The token whose heads look most decidedly at different other words: highest sum, over the distinct tokens that its
/// heads look at most, of the greatest weight on each; specials neither ask nor count. The first of equals.
std::size_t most_telling_token(const Explanation& explanation);

/// The five steps in words and numbers, with a corner of each matrix.
std::string explanation_table(const Explanation& explanation, const ExplanationOptions& options);

/// Every matrix of every step, as one object (keys: docs/cli.md, "Matrices of explain").
std::string explanation_json(const Explanation& explanation, const ExplanationOptions& options);

/// The page that a teacher would project: self-contained, its matrices drawn for the head that is chosen. Without its
/// script it shows the first two heads.
std::string explanation_html(const Explanation& explanation, const ExplanationOptions& options);

}  // namespace mha
