#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mha/ops/activation.hpp"

namespace mha {

/// Where a token's place enters. More than one may hold (MPNet: learned and relative_bias), so a model has a set.
struct PositionConfig {
  /// Computed table added to the embedding (Vaswani et al. 2017 §3.5). `interleaved`: sin at even, cos at odd columns;
  /// `halves`: sin in the first half, cos in the second (Marian).
  enum class Sinusoidal { none, interleaved, halves } sinusoidal = Sinusoidal::none;

  /// Learned table added to the embedding; row of token i is `learned_offset + i`.
  bool learned = false;
  std::size_t learned_offset = 0;  ///< 0, or padding_idx + 1 in the RoBERTa kind
  std::optional<std::int32_t>
      learned_padding_id;  ///< tokens with this id take row `learned_padding_row` and are not counted
  std::size_t learned_padding_row = 0;

  /// Bias table [buckets, n_heads] added to the scores, by bucket of key − query (T5, MPNet), shared by all layers.
  bool relative_bias = false;
  std::size_t relative_buckets = 32;
  std::size_t relative_max_distance = 128;
  std::size_t relative_table_rows =
      0;  ///< rows of the file's table where it holds more than `relative_buckets`; 0: as many
  bool relative_bias_per_layer = false;  ///< each layer has its own table (UMT5)

  /// Rotation of query and key. `halves` pairs column i with i + d/2, `pairs` column 2i with 2i + 1 (RoFormer).
  enum class Rotary { none, halves, pairs } rotary = Rotary::none;
  double rotary_base = 10000.0;
  double rotary_base_local = 10000.0;  ///< of layers with a local window (ModernBERT)
  double rotary_divisor = 1.0;         ///< positions are divided by this ("linear" scaling)
  std::size_t rotary_width = 0;        ///< leading columns of a head that are rotated; 0: all
  bool rotary_value = false;           ///< RoFormer: the value is rotated too

  bool alibi = false;  ///< linear biases by distance, symmetric (Jina)

  /// DeBERTa: content-to-position and position-to-content scores over a relative table.
  struct Disentangled {
    bool content_to_position = false;
    bool position_to_content = false;
    std::size_t buckets = 0;       ///< position_buckets; 0: no log buckets
    std::size_t max_distance = 0;  ///< max_relative_positions
    /// Half the rows of the relative table: distances beyond take its first or last row.
    std::size_t span() const { return buckets > 0 ? buckets : max_distance; }
    bool share_key = false;   ///< position keys and queries reuse the content projections
    bool norm_table = false;  ///< norm_rel_ebd "layer_norm"
  };
  std::optional<Disentangled> disentangled;
};

enum class NormKind { layer_norm, rms_norm };
enum class NormOrder { post, pre };

/// Larger epsilons than any model has: they would drown the numbers that are normalised.
inline constexpr double kLargestEpsilon = 1.0;

struct NormConfig {
  NormKind kind = NormKind::layer_norm;
  NormOrder order = NormOrder::post;
  double eps = 1e-5;
};

/// A convolution over tokens beside the first layer (DeBERTa-v2 `conv_kernel_size`).
struct ConvolutionConfig {
  std::size_t kernel = 3;
  std::size_t groups = 1;
  Activation activation = Activation::tanh;
};

/// Sizes and switches of one encoder: everything that a forward pass needs to know besides the weights.
/// Validated once by `validate`; const afterwards. Defaults: docs/models.md, "One JSON file".
struct ModelConfig {
  std::string family;  ///< "bert", "transformer_encoder", "mha-json", …

  std::size_t d_model = 0;
  std::size_t n_heads = 0;
  std::size_t n_kv_heads = 0;  ///< fewer than n_heads: grouped (EuroBERT)
  std::size_t d_head = 0;
  std::size_t n_layers = 0;
  std::size_t d_ff = 0;  ///< 0: no feed-forward
  std::size_t vocab_size = 0;
  std::size_t max_positions = 0;    ///< tokens an input may have; 0: no limit of its own
  std::size_t type_vocab_size = 0;  ///< 0: no token types
  std::size_t embedding_size = 0;   ///< width of the word table when it is projected to d_model; 0: no projection

  PositionConfig position;
  std::optional<NormConfig> norm = NormConfig{};  ///< empty: no normalisation at all
  bool norm_bias = true;
  bool embedding_norm = false;
  /// Where a factorised embedding is widened to d_model: right after the word lookup (positions then have d_model
  /// columns), after words, positions and types are summed (DeBERTa), or after the embedding norm (ALBERT, ELECTRA).
  enum class Projection { after_lookup, after_sum, after_norm } embedding_projection = Projection::after_norm;
  bool embedding_projection_bias = true;
  bool first_attention_norm = true;  ///< ModernBERT: the first layer has none
  bool final_norm = false;
  bool residual = true;

  enum class FeedForward { none, two_layer, gated } feed_forward = FeedForward::two_layer;
  Activation activation = Activation::relu;
  bool attention_bias = true;
  bool attention_output_bias = true;
  bool feed_forward_bias = true;  ///< of the projection into d_ff
  bool feed_forward_output_bias = true;

  float embedding_scale = 1.0F;  ///< multiplies the word vectors (√d_model in 2017 and Marian; ESM's 0.88 …)
  std::optional<std::int32_t>
      zeroed_token_id;          ///< ESM: the vector of this token is zero, others are rescaled by mask share
  bool scale_scores = true;     ///< false: T5
  std::size_t score_parts = 1;  ///< scores are divided by √(d_head · score_parts) (DeBERTa: 1 + kinds of positions)
  std::size_t shared_layers = 0;           ///< ALBERT: distinct layers; 0: every layer has its own weights
  std::vector<std::size_t> layer_weights;  ///< which weights layer i uses; empty: its own

  std::size_t local_window = 0;    ///< a token of a local layer sees |i − j| ≤ local_window; 0: none is local
  std::vector<bool> local_layers;  ///< which layers are local; empty: none
  std::optional<ConvolutionConfig> convolution;

  std::optional<std::int32_t> pad_token_id;

  /// Width of the queries of all heads, and of the keys (or values) of all heads.
  std::size_t d_query() const { return n_heads * d_head; }
  std::size_t d_key_value() const { return n_kv_heads * d_head; }

  /// Columns of the word, position and token type tables, and of the embedding norm.
  bool factorised() const { return embedding_size != 0; }
  std::size_t word_width() const { return embedding_size != 0 ? embedding_size : d_model; }
  std::size_t position_width() const {
    return embedding_projection == Projection::after_lookup ? d_model : word_width();
  }
  std::size_t embedding_norm_width() const {
    return embedding_projection == Projection::after_norm ? word_width() : d_model;
  }

  std::size_t distinct_layers() const { return shared_layers != 0 ? shared_layers : n_layers; }
  /// Which of the distinct layers' weights layer `layer` uses.
  std::size_t weights_of_layer(std::size_t layer) const { return layer_weights.empty() ? layer : layer_weights[layer]; }
  bool is_local(std::size_t layer) const { return layer < local_layers.size() && local_layers[layer]; }
  bool gated() const { return feed_forward == FeedForward::gated; }
  /// Rows that a learned position table must have.
  std::size_t position_rows() const { return max_positions + position.learned_offset; }

  /// Throws Error{model} `config: KEY: expected …, got …` when sizes are absurd, zero or do not fit together.
  void validate() const;
};

}  // namespace mha
