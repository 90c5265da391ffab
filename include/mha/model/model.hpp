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

#include "mha/model/config.hpp"
#include "mha/model/encoder.hpp"
#include "mha/ops/backend.hpp"
#include "mha/tokenizer/tokenizer.hpp"

namespace mha {

/// Ways to make one vector of an input's token vectors.
enum class PoolingMode { cls, mean, max, last, mean_sqrt_len, weighted_mean, pooler };

/// A dense module after pooling (sentence-transformers `2_Dense`).
struct DenseModule {
  LinearWeights linear;
  Activation activation = Activation::tanh;
};

/// How an input becomes a sentence vector.
struct SentenceConfig {
  std::vector<PoolingMode> pooling{PoolingMode::mean};  ///< several are concatenated
  bool include_prompt = true;                           ///< false: the prompt's tokens are left out of pooling
  std::vector<DenseModule> dense;                       ///< in order
  bool normalize = false;
  std::map<std::string, std::string> prompts;
  std::string default_prompt_name;
  std::string similarity = "cosine";                    ///< "cosine", "dot", "euclidean", "manhattan"
};

/// One decision that loading made, with the file and key it came from, or "assumed".
struct Decision {
  std::string what;
  std::string value;
  std::string from;
};

struct ModelFile {
  std::string path;   ///< relative to the model
  std::size_t bytes = 0;
};

struct LoadOptions {
  std::string backend = "auto";
  std::string dtype = "auto";              ///< auto, f32, bf16, int8, bf16x3
  std::optional<std::size_t> max_length;   ///< --max-length; capped by the position table with a fact in `notes`
};

/// Where names are looked up: environment of the process, read by the command line and handed in.
struct ModelSearch {
  std::string model_path;      ///< $MHA_MODEL_PATH, colon separated
  std::string share_dir;       ///< installed share/mha/models
  std::string hub_cache;       ///< resolved from HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME; empty when unknown
};

/// A model that was found but not read.
struct ModelLocation {
  enum class Kind { folder, json_file, builtin } kind = Kind::folder;
  std::string path;            ///< folder, file, or the built-in name
  std::string name;            ///< for people
};

/// A directory; a `.safetensors` or `.json` file; a name in the search path; a built-in; `org/name` in the hub cache.
/// Throws Error{model} that lists every place that was searched.
ModelLocation find_model(const std::string& name, const ModelSearch& search);
/// Every model that can be found by name, built-ins first.
std::vector<ModelLocation> list_models(const ModelSearch& search);

/// Tokenizer of a location alone (a folder without weights or config is enough).
struct TokenizerOnly {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::optional<std::size_t> max_length;   ///< tokens with specials; empty: no limit
  std::vector<std::string> notes;          ///< facts worth a warning
  SentenceConfig sentence;                 ///< prompts, where the folder has them
};
TokenizerOnly load_tokenizer(const ModelLocation& location, const LoadOptions& options);

/// Config, tokenizer, packed weights and sentence modules of one model. Immutable, shared by all threads.
class Model {
 public:
  /// Usage errors that depend on the config are thrown by `read_config` before any weight is read; this reads everything.
  static std::shared_ptr<const Model> load(const ModelLocation& location, const LoadOptions& options);

  virtual ~Model() = default;
  virtual const ModelLocation& location() const = 0;
  virtual const ModelConfig& config() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual std::shared_ptr<const Tokenizer> shared_tokenizer() const = 0;
  virtual const Encoder& encoder() const = 0;
  virtual const SentenceConfig& sentence() const = 0;
  virtual std::optional<std::size_t> max_length() const = 0;  ///< tokens with specials
  virtual std::size_t embedding_width(const std::vector<PoolingMode>& pooling) const = 0;

  virtual const std::vector<Decision>& decisions() const = 0;
  virtual const std::vector<ModelFile>& files() const = 0;
  virtual const std::vector<std::string>& unused_tensors() const = 0;
  virtual const std::vector<std::string>& notes() const = 0;  ///< facts worth a warning, e.g. a capped length
  virtual std::size_t parameters() const = 0;
  virtual std::string weights_dtype() const = 0;              ///< "F32", "I8", … or "mixed"
};

/// Reads config and sentence modules only: everything that usage checks need, in milliseconds.
struct ModelHeader {
  ModelConfig config;
  SentenceConfig sentence;
  std::optional<std::size_t> max_length;
};
ModelHeader read_model_header(const ModelLocation& location, const LoadOptions& options);

/// Pools token vectors [T, d_model] of one input; rows before `first` (an excluded prompt) are left out.
/// `pooler` is the pooler output of the input where a mode needs it. Applies dense modules, then cuts to `dims`
/// (0: all), then normalises. Throws Error{input} "no tokens to pool".
void pool(const SentenceConfig& sentence, ConstMatrix hidden, std::size_t first, const float* pooler, std::size_t dims,
          bool normalize, const Backend& backend, std::vector<float>& out);

}  // namespace mha
