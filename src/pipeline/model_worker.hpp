#pragma once

#include <cstddef>
#include <string>

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
  Wanted wanted;                    ///< of the encoder; attention layers and heads in record order
};

/// Makes workers that fill records: encoding, then the parts that are wanted. `work` must outlive them.
WorkerFactory model_workers(const ModelWork& work);

}  // namespace mha
