#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mha/model/model.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "model/quantize.hpp"
#include "output/records.hpp"
#include "pipeline/pipeline.hpp"

namespace mha {

/// What a run asks of a model. Everything that is pointed to must outlive the pipeline.
struct ModelWork {
  const Tokenizer* tokenizer = nullptr;
  EncodeOptions encode;
  bool refuse_long = false;   ///< an input over `encode.max_length` is a bad record instead of being cut
  std::string prompt;         ///< stands before each text
  bool refuse_pairs = false;  ///< a pair of texts is a bad record

  const Encoder* encoder = nullptr;  ///< nullptr: inputs are only tokenised
  SentenceConfig sentence;           ///< how vectors are pooled
  std::size_t dims = 0;
  bool normalize = false;
  VectorQuantization quantization;  ///< of vectors that are finished
  Parts parts;                      ///< what records keep
  /// `last_hidden_state` holds the vectors that the modules before pooling make of it.
  bool token_vectors = false;
  std::vector<std::int32_t> skipped_tokens;  ///< ids of tokens that are then left out, with their vectors; sorted
  const Head* sparse_head = nullptr;         ///< the result holds the weights of vocabulary entries (SPLADE)
  Wanted wanted;                             ///< of the encoder; attention layers and heads in record order
};

/// Makes workers that fill records: encoding, then the parts that are wanted. `work` must outlive them.
WorkerFactory model_workers(const ModelWork& work);

}  // namespace mha
