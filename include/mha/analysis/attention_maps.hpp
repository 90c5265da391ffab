#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mha {

/// A row and column of an attention map: a token, or a word joined from its pieces.
struct MapLabel {
  std::string text;          ///< the text between the offsets; the piece itself for added special tokens
  std::string piece;         ///< vocabulary entry (of a word: its pieces joined)
  bool special = false;      ///< added by the template
  int sequence = -1;         ///< 0 text, 1 pair, -1 special
  std::int32_t word = -1;    ///< number of the word within its sequence, -1 for special tokens
  std::size_t pieces = 1;    ///< number of tokens that were joined
  std::size_t position = 0;  ///< index in the input's list of tokens (of words, once joined)
  std::size_t begin = 0;     ///< bytes of the text (or the pair); 0, 0 for added special tokens
  std::size_t end = 0;
};

/// Attention of one input: weights[layer][head][query][key], each row of a full map sums to 1.
/// The functions below return changed copies; none of them rescales weights.
struct AttentionMaps {
  std::vector<MapLabel> labels;     ///< [T]
  std::vector<std::size_t> layers;  ///< model layer of each first index; empty after averaging over layers
  std::vector<std::size_t> heads;   ///< model head of each second index; empty after averaging over heads
  std::size_t layer_count = 0;      ///< first extent of weights
  std::size_t head_count = 0;       ///< second extent
  std::vector<float> weights;
  bool rolled_out = false;  ///< the one map is a product over all layers

  std::size_t tokens() const { return labels.size(); }
  const float* map(std::size_t layer, std::size_t head) const {
    return weights.data() + (layer * head_count + head) * tokens() * tokens();
  }
  float* map(std::size_t layer, std::size_t head) {
    return weights.data() + (layer * head_count + head) * tokens() * tokens();
  }
  /// "3.7" (layer.head); an averaged axis is "mean"; a rolled out map is "rollout".
  std::string name(std::size_t layer, std::size_t head) const;
};

/// Pieces of one pre-tokenizer word joined: weights to a word are summed over its pieces, weights from a word averaged
/// (Clark et al. 2019, §4.1). Special tokens are not joined.
AttentionMaps join_words(const AttentionMaps& maps);

/// The maps without the rows and columns of added special tokens; the other weights keep their values.
AttentionMaps without_specials(const AttentionMaps& maps);

/// Means over an axis, which then has extent 1.
AttentionMaps average_layers(const AttentionMaps& maps);
AttentionMaps average_heads(const AttentionMaps& maps);

/// Attention rollout (Abnar & Zuidema 2020, §3): the product over all layers, first layer rightmost, of
/// ½·(mean over heads) + ½·I. `maps` must hold every layer and head of the model. The result is one map.
AttentionMaps rollout(const AttentionMaps& maps);

/// One weight: from `query` to `key` in a head.
struct Edge {
  std::size_t layer = 0;  ///< model layer and head
  std::size_t head = 0;
  std::size_t query = 0;
  std::size_t key = 0;
  float weight = 0;
};

/// The `k` strongest keys of each query in each map, strongest first, ties by position.
std::vector<Edge> top_edges(const AttentionMaps& maps, std::size_t k);

struct FoundEdge : Edge {
  std::size_t rank = 0;  ///< 1: the query's strongest key in that head
};

/// Every head, ranked by its weight from `query` to `key`, strongest first, ties by layer and head.
std::vector<FoundEdge> rank_heads(const AttentionMaps& maps, std::size_t query, std::size_t key);

/// Position of a label named by its text, its piece, or `#3`. Tries the exact text, then the piece, then the text in
/// any case. Throws Error{usage} if it is absent (lists the labels) or ambiguous (lists the positions).
std::size_t find_label(const AttentionMaps& maps, std::string_view name);

}  // namespace mha
