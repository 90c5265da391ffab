#pragma once

#include <memory>
#include <vector>

#include "mha/ops/weights.hpp"

namespace mha {

struct AttentionWeights {
  LinearWeights query, key, value, output;
  LinearWeights position_key, position_query;  ///< DeBERTa without shared keys
  NormWeights norm;                            ///< post: after the residual; pre: before the projections
  Weight relative_bias;                        ///< [buckets, n_heads] if each layer has its own (UMT5)
};

struct FeedForwardWeights {
  LinearWeights in;    ///< [d_ff, d_model]
  LinearWeights gate;  ///< gated only: the branch that gets the activation
  LinearWeights out;   ///< [d_model, d_ff]
  NormWeights norm;
};

struct LayerWeights {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

struct EmbeddingWeights {
  Weight word;               ///< [vocab_size, embedding_size]
  Weight position;           ///< learned: [rows, embedding_size]
  Weight token_type;         ///< [type_vocab_size, embedding_size]
  LinearWeights projection;  ///< factorised: [d_model, embedding_size]
  NormWeights norm;
};

/// All arrays of one encoder, by place, still as the file has them. Views stay valid as long as `owner` lives.
struct Weights {
  std::shared_ptr<const void> owner;  ///< keeps the mapped files or buffers alive
  EmbeddingWeights embeddings;
  std::vector<LayerWeights> layers;  ///< distinct layers
  NormWeights final_norm;
  Weight relative_bias;   ///< [buckets, n_heads]
  Weight relative_table;  ///< DeBERTa rel_embeddings [2·span, d_model]
  NormWeights relative_norm;
  LinearWeights convolution;  ///< [d_model, d_model / groups, kernel]
  NormWeights convolution_norm;
  LinearWeights pooler;  ///< dense of the first token, tanh; absent weight: no pooler
};

}  // namespace mha
