#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "io/mapped_file.hpp"
#include "mha/core/error.hpp"
#include "model/families/bind_weights.hpp"
#include "model/families/family.hpp"
#include "model/model_tools.hpp"
#include "model/model_writer.hpp"

namespace mha {

using nlohmann::json;

namespace {

/// Numbers that are the same everywhere: integers alone until the last division, no function of the C library.
class Randomness {
 public:
  explicit Randomness(std::uint64_t seed) : state_(seed) {}

  /// Mean 0, variance 1: twelve uniform numbers, summed (close to normal).
  double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  /// SplitMix64 (Steele, Lea and Flood 2014), its upper 53 bits as a number in [0, 1).
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
  }

  std::uint64_t state_;
};

/// A source without any array that makes each one it is asked for.
class InventedWeights final : public WeightSource {
 public:
  InventedWeights(const ModelConfig& config, std::uint64_t seed)
      : config_(config), arrays_(std::make_shared<Arrays>()), random_(seed) {}

  const TensorView* find(std::string_view name) const override {
    const auto found = arrays_->find(name);
    return found == arrays_->end() ? nullptr : &found->second.view;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, array] : *arrays_) names.push_back(name);
    return names;
  }
  std::shared_ptr<const void> owner() const override { return arrays_; }
  std::string place(std::string_view) const override { return "model init"; }

  const TensorView* instead(std::string_view name, const std::vector<std::size_t>& shape,
                            const std::string&) const override {
    Array& array = (*arrays_)[std::string(name)];
    array.view.shape = shape;
    array.values.resize(array.view.size());
    const double spread = spread_of(name, shape);
    for (float& value : array.values) value = static_cast<float>(spread == 0 ? 1.0 : spread * random_.normal());
    array.view.data = reinterpret_cast<const std::byte*>(array.values.data());
    return &array.view;
  }

 private:
  struct Array {
    std::vector<float> values;
    TensorView view;
  };
  using Arrays = std::map<std::string, Array, std::less<>>;

  /// Standard deviation; 0 for norms, which start at 1.
  double spread_of(std::string_view name, const std::vector<std::size_t>& shape) const {
    constexpr double kSmall = 0.1;
    if (shape.size() == 1) return 0;
    if (name.starts_with("embeddings.word")) {
      return config_.embedding_scale > 1.0F ? 1 / static_cast<double>(config_.embedding_scale) : 1;
    }
    if (name.starts_with("embeddings.position") || name.starts_with("embeddings.token_type") ||
        name.find("relative") != std::string_view::npos) {
      return kSmall;
    }
    return 1 / std::sqrt(static_cast<double>(shape.back()));
  }

  const ModelConfig& config_;
  std::shared_ptr<Arrays> arrays_;
  mutable Randomness random_;
};

}  // namespace

void init_model(const InitOptions& options) {
  if (options.output.empty()) throw_usage("--output: expected a path for the new model, got none");
  std::vector<std::string> words = options.words;
  std::string tokenizer_json;
  std::size_t vocab_size = 0;
  if (!options.tokenizer_file.empty()) {
    tokenizer_json = read_file(options.tokenizer_file);
    vocab_size =
        Tokenizer::from_json(tokenizer_json, path_text(std::filesystem::path(options.tokenizer_file)))->vocab_size();
  } else {
    const std::string unk = "<unk>";
    if (std::find(words.begin(), words.end(), unk) == words.end()) words.insert(words.begin(), unk);
    vocab_size = words.size();
    if (options.format == ModelFormat::safetensors) {
      tokenizer_json = words_tokenizer_json(words, options.lowercase, unk);
    } else {
      tokenizer_json = json{{"type", "words"}, {"vocab", words}, {"lowercase", options.lowercase}, {"unk", unk}}.dump();
    }
  }

  ModelConfig shape = options.config;
  if (shape.n_kv_heads == 0) shape.n_kv_heads = shape.n_heads;
  if (shape.d_head == 0 && shape.n_heads != 0 && shape.d_model % shape.n_heads == 0) {
    shape.d_head = shape.d_model / shape.n_heads;
  }
  if (shape.vocab_size == 0) shape.vocab_size = vocab_size;
  if (shape.vocab_size < vocab_size) {
    throw_usage("model init: vocab_size: expected at least " + std::to_string(vocab_size) +
                ", the words of the tokenizer, got " + std::to_string(shape.vocab_size));
  }
  json config = config_to_json(shape);
  FamilyModel family;
  try {
    family = read_family(config, "model init", "mha-json");
  } catch (const Error& error) {
    throw_usage(error.what());  // the shape was asked for, it came from no file
  }
  const InventedWeights source(family.config, options.seed);
  std::vector<std::string> unused;
  const Weights weights = bind_weights(family, source, unused);

  if (options.format == ModelFormat::json)
    return write_json_model(config, tokenizer_json, named_weights(weights), options.output);
  NewFolder folder(options.output);
  config["model_type"] = "mha-json";
  folder.write("config.json", config.dump(2) + "\n");
  folder.write("tokenizer.json", tokenizer_json);
  write_arrays(source, {}, folder.file("model.safetensors"));
  folder.commit();
}

}  // namespace mha
