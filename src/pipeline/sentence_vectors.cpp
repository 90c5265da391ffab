#include "pipeline/sentence_vectors.hpp"

#include <algorithm>

namespace mha {

std::size_t excluded_prompt_tokens(const ModelWork& work) {
  if (work.sentence.include_prompt) return 0;
  EncodeOptions options = work.encode;
  options.max_length.reset();
  TokenizerScratch scratch;
  return prompt_token_count(*work.tokenizer, work.prompt, options, scratch);
}

SentenceVectors::SentenceVectors(const ModelWork& work) : work_(work) {
  const auto& pooling = work.sentence.pooling;
  needs_pooler_ = std::find(pooling.begin(), pooling.end(), PoolingMode::pooler) != pooling.end();
}

void SentenceVectors::begin(const Batch& batch, ConstMatrix hidden, Workspace& workspace) {
  if (!needs_pooler_) return;
  d_model_ = hidden.cols;
  pooled_.resize(batch.inputs() * d_model_);
  work_.encoder->pooler_output(batch, hidden, {pooled_.data(), batch.inputs(), d_model_}, workspace);
}

void SentenceVectors::pool_rows(std::size_t input, ConstMatrix rows, std::size_t skipped, std::size_t dims,
                                Workspace& workspace, std::vector<float>& out) {
  const float* pooler = needs_pooler_ ? pooled_.data() + input * d_model_ : nullptr;
  pool(work_.sentence, rows, std::min(skipped, rows.rows), pooler, dims, work_.normalize, work_.encoder->backend(),
       workspace, out);
}

}  // namespace mha
