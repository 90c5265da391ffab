#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mha/model/model.hpp"

namespace mha {

/// Facts about a model, and the decisions of its loader.
struct ModelInfo {
  std::string name;
  std::string path;  ///< folder or file, or "built-in"
  std::string family;
  std::string config_json;  ///< the encoder's switches (ModelConfig), a JSON object as in mha-json files
  struct Part {
    std::string name;
    std::size_t parameters = 0;
    std::size_t bytes = 0;  ///< in the files
  };
  std::vector<Part> parts;     ///< "embeddings", "layers", …, in the order of the forward pass
  std::size_t memory = 0;      ///< bytes of the weights once loaded: tables as in the files, the rest as computed with
  std::size_t parameters = 0;  ///< of the encoder and its dense modules
  std::size_t bytes = 0;       ///< of those in the files
  std::string dtype;
  std::optional<std::size_t> max_length;
  std::size_t embedding_width = 0;
  SentenceConfig sentence;  ///< pooling, normalize, prompts, …
  std::vector<std::pair<std::string, std::string>> tokenizer;
  std::vector<std::string> tasks;  ///< heads that the files hold
  std::vector<Decision> decisions;
  std::vector<ModelFile> files;
  std::vector<std::string> unused_tensors;
  std::vector<std::string> ignored_keys;  ///< of config.json: nothing here or in the reference computes with them
  std::vector<std::string> notes;
};

/// Reads everything but packs no weights. Errors: model.
ModelInfo model_info(const ModelLocation& location, const LoadOptions& options);

/// The faults of a model, and its abilities.
struct ModelReport {
  std::vector<ModelFile> files;        ///< that were checked
  std::vector<std::string> problems;   ///< everything that was found; empty: the model is sound
  std::vector<std::string> notes;      ///< oddities that are harmless
  std::vector<std::string> abilities;  ///< sentences such as "sentence vectors of width 384 (mean, l2)"
};

/// Checks every file of a model, each by itself and all together, and runs a test input through it. Never throws for a
/// fault of the model: faults are gathered.
ModelReport verify_model(const ModelLocation& location, const LoadOptions& options);

enum class ModelFormat { safetensors, json };

struct ConvertOptions {
  ModelFormat to = ModelFormat::safetensors;
  std::string dtype;   ///< "f32", "f16", "bf16", "int8"; empty: as it is (json: f32, the only one)
  std::string output;  ///< a new folder (safetensors), or a file (json)
};

/// Writes a model in another format or number type. The output appears whole or not at all; a folder must be new.
/// safetensors keeps the other files as they are; int8 has one scale a row for the matrices of linear layers and the
/// word table, everything else stays float32. json holds encoder, tokenizer and sentence modules, and gives the same
/// vectors. Returns facts worth saying. Errors: model; output; usage for a combination that does not exist.
std::vector<std::string> convert_model(const ModelLocation& location, const ConvertOptions& options);

/// How far the sentence vectors of two models are apart.
struct EmbeddingDrift {
  std::size_t texts = 0;
  double mean_cosine = 1;
  double least_cosine = 1;
  double max_abs = 0;
};
/// Errors: usage if the widths differ; input as `Encoder::forward`.
EmbeddingDrift embedding_drift(const Model& a, const Model& b, std::span<const std::string> texts);

struct InitOptions {
  ModelConfig config;              ///< vocab_size 0: that of the tokenizer; n_kv_heads, d_head 0: by n_heads
  std::vector<std::string> words;  ///< vocabulary of a `words` tokenizer; "<unk>" is put in front if it is absent
  bool lowercase = true;           ///< of the `words` tokenizer
  std::string tokenizer_file;      ///< a tokenizer.json, instead of `words`
  std::uint64_t seed = 0;
  ModelFormat format = ModelFormat::json;
  std::string output;
};

/// Writes a fresh model with random weights: matrices normal with variance 1/inputs, word vectors normal with variance
/// 1 (1/d_model if they are scaled by √d_model), norms 1. The same seed gives the same bytes on every machine.
/// Errors: usage for a config that does not fit together; model for the tokenizer file; output.
void init_model(const InitOptions& options);

}  // namespace mha
