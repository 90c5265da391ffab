#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "io/file_set.hpp"
#include "mha/model/model.hpp"
#include "mha/ops/backend.hpp"
#include "model/weight_source.hpp"

namespace mha {

/// What the sentence-transformers files of a folder say, in either dialect (2.x to 5.x wrote `pooling_mode_*` keys and
/// `sentence_transformers.models.*`; 6.x writes `pooling_mode` and `sentence_transformers.*.modules.*`).
struct SentenceModules {
  SentenceConfig config;
  std::string transformer_folder;         ///< where config.json and the weights are; empty: the model's folder
  std::optional<std::size_t> max_length;  ///< max_seq_length
  std::string max_length_from;
  bool lowercase = false;  ///< do_lower_case: true
  std::string lowercase_from;
  bool special_tokens = true;               ///< false: texts get no special tokens (static embeddings)
  bool pylate = false;                      ///< written by PyLate, whose last steps the reference adds
  bool model2vec = false;                   ///< words that the tokenizer does not know are left out of the mean
  std::optional<std::size_t> pooled_width;  ///< the token width that the pooling module was written for
  std::string pooled_width_from;
  std::vector<Decision> decisions;
  std::vector<std::string> unknown_keys;  ///< "FILE: KEY" of every key that nothing here reads
};

/// Reads modules.json and what it names, sentence_bert_config.json (or one of its older names) and
/// config_sentence_transformers.json; a folder without them pools the mean, "assumed".
/// Errors: model, naming file and key, for a module, mode, activation or setting that is not implemented.
SentenceModules read_sentence_modules(const FileSet& files);

/// Checks that pooling and dense modules fit a model of that width; `origin` names the model. Errors: model.
void check_sentence_widths(const SentenceModules& modules, std::size_t d_model, const std::string& origin);

/// Finds `PREFIXlinear.weight`, its bias and the residual's weight of a dense module. Errors: model.
void bind_dense(DenseModule& dense, const WeightSource& source, const std::string& prefix);

}  // namespace mha
