#include "model/static_embedding.hpp"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "model/json_fields.hpp"
#include "ops/convert.hpp"

namespace mha {
namespace {

constexpr char kTable[] = "embedding.weight";

std::optional<std::int64_t> whole_number(const TensorView& view, std::size_t i) {
  const auto read = [&](auto number) {
    std::memcpy(&number, view.data + i * sizeof number, sizeof number);
    return static_cast<std::int64_t>(number);
  };
  if (view.dtype == DType::i64) return read(std::int64_t{});
  if (view.dtype == DType::i32) return read(std::int32_t{});
  return std::nullopt;
}

std::vector<float> floats_of(const TensorView& view, const std::string& subject) {
  std::vector<float> values(view.size());
  if (view.dtype == DType::i8) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int8_t code = 0;
      std::memcpy(&code, view.data + i, 1);
      values[i] = static_cast<float>(code);
    }
    return values;
  }
  if (!is_float_type(view.dtype))
    throw_model(subject + ": expected float numbers or I8, got " + std::string(name_of(view.dtype)));
  to_float32(view, 0, values.size(), values.data());
  return values;
}

/// One table made of model2vec's arrays.
class StaticEmbeddingSource final : public WeightSource {
 public:
  explicit StaticEmbeddingSource(std::shared_ptr<const WeightSource> file) : file_(std::move(file)) {
    if (const TensorView* table = file_->find(kTable)) {
      check_table(*table, kTable);
      view_ = *table;
      used_ = {kTable};
      return;
    }
    const TensorView* rows = file_->find("embeddings");
    if (rows == nullptr) {
      throw_model(file_->place(kTable) + ": tensor " + kTable +
                  ": expected the table of a static embedding (or embeddings, as model2vec writes it), got none");
    }
    check_table(*rows, "embeddings");
    used_ = {"embeddings"};
    fold(*rows);
  }

  const TensorView* find(std::string_view name) const override {
    if (name == kTable) return &view_;
    return used(name) ? nullptr : file_->find(name);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names{kTable};
    for (std::string& name : file_->names()) {
      if (!used(name)) names.push_back(std::move(name));
    }
    return names;
  }
  std::shared_ptr<const void> owner() const override { return std::make_shared<const Owner>(Owner{file_, values_}); }
  std::string place(std::string_view name) const override { return file_->place(name); }

 private:
  struct Owner {
    std::shared_ptr<const WeightSource> file;
    std::shared_ptr<const std::vector<float>> values;
  };

  bool used(std::string_view name) const {
    for (const std::string& taken : used_) {
      if (taken == name) return true;
    }
    return false;
  }

  void check_table(const TensorView& view, const std::string& name) const {
    if (view.shape.size() == 2 && view.size() > 0) return;
    throw_model(file_->place(name) + ": tensor " + name + ": expected shape [vocabulary, width], got " +
                shape_text(view.shape));
  }

  /// embeddings[mapping] · weights[:, None] in float32 (StaticEmbedding._fold_model2vec_weights).
  void fold(const TensorView& rows) {
    const std::size_t width = rows.shape[1];
    const std::vector<float> from = floats_of(rows, subject("embeddings"));
    const TensorView* mapping = array("mapping");
    const std::size_t tokens = mapping != nullptr ? mapping->size() : rows.shape[0];
    auto table = std::make_shared<std::vector<float>>(tokens * width);
    for (std::size_t token = 0; token < tokens; ++token) {
      std::size_t row = token;
      if (mapping != nullptr) {
        const auto number = whole_number(*mapping, token);
        if (!number || *number < 0 || static_cast<std::size_t>(*number) >= rows.shape[0]) {
          throw_model(subject("mapping") + ": expected rows 0 to " + std::to_string(rows.shape[0] - 1) +
                      " as I64 or I32, got another value for token " + std::to_string(token));
        }
        row = static_cast<std::size_t>(*number);
      }
      std::copy_n(from.data() + row * width, width, table->data() + token * width);
    }
    if (const TensorView* weights = array("weights")) {
      if (weights->size() != tokens) {
        throw_model(subject("weights") + ": expected one number per token, " + std::to_string(tokens) + ", got " +
                    std::to_string(weights->size()));
      }
      const std::vector<float> factors = floats_of(*weights, subject("weights"));
      for (std::size_t i = 0; i < table->size(); ++i) (*table)[i] *= factors[i / width];
    }
    values_ = table;
    view_ = {DType::f32, {tokens, width}, reinterpret_cast<const std::byte*>(table->data())};
  }

  /// A vector that may be absent.
  const TensorView* array(const char* name) {
    const TensorView* view = file_->find(name);
    if (view == nullptr) return nullptr;
    if (view->shape.size() != 1)
      throw_model(subject(name) + ": expected a shape of one size, got " + shape_text(view->shape));
    used_.emplace_back(name);
    return view;
  }

  std::string subject(const std::string& name) const { return file_->place(name) + ": tensor " + name; }

  std::shared_ptr<const WeightSource> file_;
  std::shared_ptr<const std::vector<float>> values_;
  std::vector<std::string> used_;
  TensorView view_;
};

}  // namespace

std::shared_ptr<const WeightSource> static_embedding_source(std::shared_ptr<const WeightSource> file) {
  return std::make_shared<const StaticEmbeddingSource>(std::move(file));
}

FamilyModel static_embedding_family(const WeightSource& source) {
  const TensorView& table = *source.find(kTable);
  FamilyModel family;
  family.names.places[Place::word] = "embedding";
  ModelConfig& config = family.config;
  config.family = "static";
  config.vocab_size = table.shape[0];
  config.d_model = config.d_head = table.shape[1];
  config.n_heads = config.n_kv_heads = 1;
  config.n_layers = 0;
  config.norm.reset();
  config.feed_forward = ModelConfig::FeedForward::none;
  config.validate();
  family.decisions.push_back({"family", "static", "word vectors without layers"});
  family.decisions.push_back({"d_model", std::to_string(config.d_model), "the shape of the word table"});
  family.decisions.push_back({"vocab_size", std::to_string(config.vocab_size), "the shape of the word table"});
  return family;
}

bool is_model2vec(const nlohmann::json& config) {
  if (!config.is_object()) return false;
  if (const auto type = config.find("model_type"); type != config.end()) return *type == "model2vec";
  // Newer releases write no model_type.
  for (const char* key : {"embedding_dtype", "sif_coefficient", "apply_zipf"}) {
    if (config.contains(key)) return true;
  }
  return false;
}

Model2VecSettings read_model2vec(const nlohmann::json& config, const std::string& origin) {
  constexpr std::size_t kAssumedLength = 512;
  const JsonFields fields(config, "config", origin);
  // How the table was made, and what it was made of.
  fields.harmless({"model_type", "architectures", "tokenizer_name", "apply_pca", "apply_zipf", "sif_coefficient",
                   "hidden_dim", "seq_length", "pca_dims", "embedding_dtype", "vocabulary_quantization",
                   "token_remove_pattern"});
  fields.only_text("pooling", "mean");
  Model2VecSettings settings;
  settings.normalize = fields.flag("normalize").value_or(false);
  settings.max_length = fields.size("max_length");
  if (!config.contains("max_length")) settings.max_length = kAssumedLength;
  for (const std::string& key : fields.unread()) settings.unknown_keys.push_back("config.json: " + key);
  return settings;
}

}  // namespace mha
