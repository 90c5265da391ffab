#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "mha/analysis/attention_maps.hpp"

namespace mha {

/// What somebody wants to know of attention maps: how they are looked at, and what is answered beside or instead.
struct AttentionQuestions {
  bool words = false;  ///< pieces joined to words
  bool hide_specials = false;
  bool average_layers = false;
  bool average_heads = false;

  bool rollout = false;  ///< needs all layers and heads
  bool stats = false;
  std::size_t top = 0;                                    ///< strongest keys a query; 0: not asked
  std::vector<std::pair<std::string, std::string>> find;  ///< query and key by name

  /// Whether maps are shown otherwise than the model made them.
  bool changes_maps() const { return words || hide_specials || average_layers || average_heads || rollout; }
  /// Whether something is answered that is no map.
  bool asks() const { return stats || top > 0 || !find.empty(); }
};

/// The maps as they are to be shown: words, then rollout or averages, then specials left out.
AttentionMaps shown_maps(AttentionMaps maps, const AttentionQuestions& questions);

/// The maps that answers rest on: words and averages, with their specials, positions as in the list of tokens or words.
AttentionMaps asked_maps(AttentionMaps maps, const AttentionQuestions& questions);

}  // namespace mha
