#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// Questions about attention maps: how maps are changed before they are shown, and which tables are wanted.
struct AttentionQuestions {
  bool words = false;  ///< pieces joined to words
  bool hide_specials = false;
  bool average_layers = false;
  bool average_heads = false;

  bool rollout = false;  ///< needs all layers and heads
  bool stats = false;
  std::size_t top = 0;                                    ///< strongest keys per query; 0: not asked
  std::vector<std::pair<std::string, std::string>> find;  ///< query and key by name

  /// True if the maps differ from those of the model.
  bool changes_maps() const { return words || hide_specials || average_layers || average_heads || rollout; }
  /// True if the output is a table instead of attention maps.
  bool asks() const { return stats || top > 0 || !find.empty(); }
};

/// The maps to show: words are joined, then rollout or averages, then special tokens are left out.
AttentionMaps shown_maps(AttentionMaps maps, const AttentionQuestions& questions);

/// The maps for tables: words and averages, with special tokens, positions as in the list of tokens or words.
AttentionMaps asked_maps(AttentionMaps maps, const AttentionQuestions& questions);

}  // namespace mha
