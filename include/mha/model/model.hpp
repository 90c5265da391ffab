#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
#include "mha/ops/backend.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace mha {

/// Ways to make one vector of an input's token vectors.
enum class PoolingMode { cls, mean, max, last, mean_sqrt_len, weighted_mean, pooler };
/// "cls", "mean", … as `--pooling` and `model info` write it.
std::string_view name_of(PoolingMode mode);

/// A dense module after pooling (sentence-transformers `2_Dense`): y = activation(x·Wᵀ + b).
struct DenseModule {
  std::string folder;  ///< "2_Dense"
  std::size_t in = 0;
  std::size_t out = 0;
  bool bias = true;
  bool normalize_input = false;  ///< a Normalize module stands before it
  Activation activation = Activation::tanh;
  LinearWeights linear;                        ///< absent until the weights are read
  std::shared_ptr<const void> owner;           ///< keeps the bytes of `linear` alive
  std::shared_ptr<const PackedLinear> packed;  ///< for the model's backend
};

/// How an input becomes a sentence vector.
struct SentenceConfig {
  std::vector<PoolingMode> pooling{PoolingMode::mean};  ///< several are concatenated
  bool include_prompt = true;                           ///< false: the prompt's tokens are left out of pooling
  std::vector<DenseModule> dense;                       ///< in order
  bool normalize = false;
  std::map<std::string, std::string> prompts;
  std::string default_prompt_name;
  std::string similarity = "cosine";  ///< "cosine", "dot", "euclidean", "manhattan"
};

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

/// The prompt that stands in front of an input. With a name, that prompt; with a role, `query`'s prompt or the first of
/// `document`, `passage`, `corpus`; without either, or where the model has no prompt of that role, the default one.
/// Throws Error{usage} for a name or role that is not there, with the nearest.
struct PromptChoice {
  std::optional<std::string> text;  ///< --prompt: as it is, also when empty
  std::optional<std::string> name;  ///< --prompt-name
  std::optional<std::string> role;  ///< --role
};
std::string choose_prompt(const SentenceConfig& sentence, const PromptChoice& choice);

/// Tokens at the start of an input that belong to the prompt: those of the prompt alone minus its closing special
/// (sentence-transformers 6.2). 0 for an empty prompt.
std::size_t prompt_token_count(const Tokenizer& tokenizer, const std::string& prompt, const EncodeOptions& options,
                               TokenizerScratch& scratch);

/// Where names are looked up: environment of the process, read by the command line and handed in.
struct ModelSearch {
  std::string model_path;  ///< $MHA_MODEL_PATH, colon separated
  std::string share_dir;   ///< installed share/mha/models
  std::string hub_cache;   ///< resolved from HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; empty when unknown
};

/// A model that was found but not read.
struct ModelLocation {
  enum class Kind { folder, json_file, builtin } kind = Kind::folder;
  std::string path;     ///< folder, file, or the built-in name
  std::string name;     ///< for people
  std::string weights;  ///< a `.safetensors` file of the folder that was asked for by name; empty: the usual ones
};

/// A directory; a `.safetensors` or `.json` file; a name in the search path; a built-in; `org/name` in the hub cache.
/// Throws Error{model} that lists every place that was searched.
ModelLocation find_model(const std::string& name, const ModelSearch& search);
/// Every model that can be found by name, built-ins first.
std::vector<ModelLocation> list_models(const ModelSearch& search);
/// The model that is used when none is named: built in.
std::string default_model_name();

/// Tokenizer of a location alone (a folder without weights or config is enough).
struct TokenizerOnly {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<std::size_t> max_length;  ///< tokens with specials; empty: no limit
  std::vector<std::string> notes;         ///< facts worth a warning
  SentenceConfig sentence;                ///< prompts, where the folder has them
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

  virtual ~Model() = default;
  virtual const ModelLocation& location() const = 0;
  virtual const ModelConfig& config() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual std::shared_ptr<const Tokenizer> shared_tokenizer() const = 0;
  virtual const Encoder& encoder() const = 0;
  virtual const SentenceConfig& sentence() const = 0;
  virtual std::optional<std::size_t> max_length() const = 0;  ///< tokens with specials
  /// Width of the sentence vector with that pooling. Throws Error{usage} where the model has no pooler weights, or its
  /// dense modules were made for another pooling.
  virtual std::size_t embedding_width(const std::vector<PoolingMode>& pooling) const = 0;

  /// Heads that the files hold.
  virtual std::vector<Task> tasks() const = 0;
  /// Reads one of them. Throws Error{model} where it is not there.
  virtual std::shared_ptr<const Head> load_head(Task task) const = 0;

  virtual const std::vector<Decision>& decisions() const = 0;
  virtual std::vector<ModelFile> files() const = 0;  ///< that were read, by name
  virtual const std::vector<std::string>& unused_tensors() const = 0;
  virtual const std::vector<std::string>& notes() const = 0;  ///< facts worth a warning, e.g. a capped length
  virtual std::size_t parameters() const = 0;                 ///< numbers that the encoder and its dense modules use
  virtual std::size_t weight_bytes() const = 0;               ///< their bytes in the files
  virtual std::string weights_dtype() const = 0;              ///< "F32", or "F32+I8" where there are several
};

/// Pools token vectors [T, d_model] of one input; rows before `first` (an excluded prompt) are left out.
/// `pooler` is the pooler output of the input where a mode needs it. Applies dense modules, then cuts to `dims`
/// (0: all), then normalises. Sums run in row order in double: the same bits in every batch.
/// Throws Error{input} "no tokens to pool", or when the result is not finite; Error{usage} when `dims` is more than
/// there are, or the dense modules do not fit the pooling.
void pool(const SentenceConfig& sentence, ConstMatrix hidden, std::size_t first, const float* pooler, std::size_t dims,
          bool normalize, const Backend& backend, std::vector<float>& out);

/// How alike two sentence vectors of one width are, by the model's own function: cosine, dot product, or minus the
/// Euclidean or Manhattan distance (sentence_transformers.util). Summed in double.
double similarity(const SentenceConfig& sentence, std::span<const float> x, std::span<const float> y);

}  // namespace mha
