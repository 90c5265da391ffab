#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mha/encoder/config.hpp"
#include "mha/encoder/encoder.hpp"
#include "mha/encoder/heads.hpp"
#include "mha/model/decision.hpp"
#include "mha/model/model_search.hpp"
#include "mha/model/prompts.hpp"
#include "mha/model/sentence.hpp"
#include "mha/ops/backend.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace mha {

/// A file that was read.
struct ModelFile {
  std::string path;  ///< relative to the model
  std::size_t bytes = 0;
};

struct LoadOptions {
  std::string backend = "auto";
  std::string dtype = "auto";             ///< auto, f32, bf16, int8, bf16x3
  std::optional<std::size_t> max_length;  ///< --max-length; capped by the position table with a fact in `notes`
  bool special_tokens = true;             ///< false: --no-special-tokens; max_length then needs no room for them
};

/// Tokenizer of a location alone (a folder without weights or config is enough).
struct TokenizerOnly {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<std::size_t> max_length;  ///< tokens with specials; empty: no limit
  std::vector<std::string> notes;         ///< facts worth a warning
  SentenceConfig sentence;                ///< prompts, if the folder has them
};
TokenizerOnly load_tokenizer(const ModelLocation& location, const LoadOptions& options);

struct OpenedModel;

/// Config and sentence modules only: everything that usage checks need, in milliseconds.
struct ModelHeader {
  ModelConfig config;
  SentenceConfig sentence;  ///< dense modules without their weights
  std::optional<std::size_t> max_length;
  std::shared_ptr<const OpenedModel> opened;  ///< for Model::load, so that no file is read twice
};
ModelHeader read_model_header(const ModelLocation& location, const LoadOptions& options);

/// Config, tokenizer, packed weights and sentence modules of one model. Immutable, shared by all threads.
class Model {
 public:
  /// Reads everything. Errors: model; usage for options that this model or machine does not allow.
  static std::shared_ptr<const Model> load(const ModelLocation& location, const LoadOptions& options);
  /// The same after `read_model_header` with the same options.
  static std::shared_ptr<const Model> load(const ModelHeader& header, const LoadOptions& options);

  const ModelLocation& location() const;
  const ModelConfig& config() const;
  const Tokenizer& tokenizer() const;
  std::shared_ptr<const Tokenizer> shared_tokenizer() const;
  const Encoder& encoder() const;
  const SentenceConfig& sentence() const;
  std::optional<std::size_t> max_length() const;  ///< tokens with specials
  /// Width of the sentence vector with that pooling. Throws Error{usage} if the model has no pooler weights, or its
  /// dense modules were made for another pooling.
  std::size_t embedding_width(const std::vector<PoolingMode>& pooling) const;

  /// Heads that the files hold.
  std::vector<Task> tasks() const;
  /// Reads one of them. Throws Error{model} if it is absent.
  std::shared_ptr<const Head> load_head(Task task) const;

  const std::vector<Decision>& decisions() const;
  std::vector<ModelFile> files() const;  ///< that were read, by name
  const std::vector<std::string>& unused_tensors() const;
  const std::vector<std::string>& notes() const;  ///< facts worth a warning, e.g. a capped length
  std::size_t parameters() const;                 ///< numbers that the encoder and its dense modules use
  std::size_t weight_bytes() const;               ///< their bytes in the files
  std::string weights_dtype() const;              ///< "F32", or "F32+I8" if there are several

  ~Model();

 private:
  Model(std::shared_ptr<const OpenedModel> opened, const LoadOptions& options);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mha
