#include "encoder/embeddings.hpp"

#include <algorithm>
#include <vector>

#include "mha/core/error.hpp"
#include "ops/convert.hpp"
#include "ops/vector.hpp"

namespace mha {

Embeddings::Embeddings(const ModelConfig& config, const EmbeddingWeights& weights, const Backend& backend,
                       Precision precision)
    : config_(config), weights_(weights), backend_(backend) {
  if (config.factorised()) {
    const LinearWeights* const projection[] = {&weights.projection};
    projection_ = backend.pack(projection, precision);
  }
  if (config.embedding_norm) norm_ = Norm(*config.norm, weights.norm);
}

void Embeddings::forward(const Batch& batch, Matrix x, Scratch& scratch, StageRecorder* stages) const {
  using Projection = ModelConfig::Projection;
  const bool factorised = config_.factorised();
  const Projection place = config_.embedding_projection;
  const bool widened_first = factorised && place == Projection::after_lookup;
  const Matrix words = factorised ? matrix_in(scratch.words, x.rows, config_.embedding_size) : x;

  look_up_words(batch, words);                    // [N, embedding_size]
  if (widened_first) project(words, x, scratch);  // [N, d_model]
  const Matrix e = widened_first ? x : words;
  if (config_.embedding_scale != 1.0F) {
    for (std::size_t r = 0; r < e.rows; ++r) scale(config_.embedding_scale, e.row(r), e.cols);
  }
  if (config_.zeroed_token_id) rescale_unmasked(batch, e);
  if (stages != nullptr) stages->matrix("word_embedding", e);
  add_positions(batch, e, scratch);
  add_token_types(batch, e, scratch);
  if (stages != nullptr) record_summands(batch, e, scratch, *stages);
  if (factorised && place == Projection::after_sum) {
    project(e, x, scratch);  // [N, d_model]
    return norm_.apply(x, x, scratch.executor);
  }
  norm_.apply(e, e, scratch.executor);
  if (factorised && place == Projection::after_norm) project(e, x, scratch);  // [N, d_model]
}

/// Records each summand that is added to the word vectors.
void Embeddings::record_summands(const Batch& batch, ConstMatrix e, Scratch& scratch, StageRecorder& stages) const {
  std::vector<float> values(e.rows * e.cols, 0.0F);
  const Matrix summand(values.data(), e.rows, e.cols);
  if (config_.position.learned || config_.position.sinusoidal != PositionConfig::Sinusoidal::none) {
    add_positions(batch, summand, scratch);
    stages.matrix("position_encoding", summand);
    std::fill(values.begin(), values.end(), 0.0F);
  }
  if (config_.type_vocab_size > 0) {
    add_token_types(batch, summand, scratch);
    stages.matrix("token_type", summand);
  }
}

void Embeddings::look_up_words(const Batch& batch, Matrix e) const {
  for (std::size_t r = 0; r < e.rows; ++r) {
    const std::int32_t id = batch.input_ids[r];
    if (config_.zeroed_token_id == id)
      std::fill_n(e.row(r), e.cols, 0.0F);
    else
      row_to_float32(weights_.word.view, weights_.word.scale, static_cast<std::size_t>(id), e.row(r));
  }
}

/// EsmEmbeddings: what the zeroed tokens lack, the others make up for.
void Embeddings::rescale_unmasked(const Batch& batch, Matrix e) const {
  for (std::size_t input = 0; input < batch.inputs(); ++input) {
    const auto ids = batch.input_ids.subspan(batch.row_begin[input], batch.length(input));
    const auto masked = static_cast<float>(std::count(ids.begin(), ids.end(), *config_.zeroed_token_id));
    const float kept = 1.0F - masked / static_cast<float>(ids.size());
    if (kept == 0.0F) continue;  // every vector is zero
    for (std::size_t r = batch.row_begin[input]; r < batch.row_begin[input + 1]; ++r)
      scale(1.0F / kept, e.row(r), e.cols);
  }
}

void Embeddings::add_positions(const Batch& batch, Matrix e, Scratch& scratch) const {
  const PositionConfig& p = config_.position;
  if (p.sinusoidal != PositionConfig::Sinusoidal::none) {
    for (std::size_t input = 0; input < batch.inputs(); ++input) {
      scratch.sinusoidal.reserve(p.sinusoidal, batch.length(input), e.cols);
      for (std::size_t i = 0; i < batch.length(input); ++i)
        add(scratch.sinusoidal.row(i), e.row(batch.row_begin[input] + i), e.cols);
    }
  }
  if (!p.learned) return;
  float* row = matrix_in(scratch.row, 1, e.cols).data;
  for (std::size_t input = 0; input < batch.inputs(); ++input) {
    std::size_t next = p.learned_offset;
    for (std::size_t r = batch.row_begin[input]; r < batch.row_begin[input + 1]; ++r) {
      const bool padding = p.learned_padding_id == batch.input_ids[r];
      row_to_float32(weights_.position.view, weights_.position.scale, padding ? p.learned_padding_row : next++, row);
      add(row, e.row(r), e.cols);
    }
  }
}

void Embeddings::add_token_types(const Batch& batch, Matrix e, Scratch& scratch) const {
  if (config_.type_vocab_size == 0) return;
  float* row = matrix_in(scratch.row, 1, e.cols).data;
  for (std::size_t r = 0; r < e.rows; ++r) {
    const std::size_t type = batch.token_type_ids.empty() ? 0 : static_cast<std::size_t>(batch.token_type_ids[r]);
    row_to_float32(weights_.token_type.view, weights_.token_type.scale, type, row);
    add(row, e.row(r), e.cols);
  }
}

void Embeddings::project(ConstMatrix e, Matrix x, Scratch& scratch) const {
  backend_.linear(*projection_, e, x, {}, scratch.executor);
}

}  // namespace mha
