#include "model/lora.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "mha/core/error.hpp"
#include "mha/core/tensor.hpp"
#include "model/json_fields.hpp"
#include "model/weight_sources.hpp"
#include "ops/convert.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr char kConfig[] = "adapter_config.json";
constexpr char kWeights[] = "adapter_model.safetensors";
constexpr std::string_view kModel = "base_model.model.";

struct AdapterSettings {
  double alpha = 8;
  bool root_rank = false;  ///< s = α / √r
  bool transposed = false;
};

AdapterSettings read_settings(const JsonFields& fields) {
  AdapterSettings settings;
  fields.only_text("peft_type", "LORA");
  if (!fields.has("peft_type")) fields.fail("peft_type", "LORA");
  if (fields.has("lora_alpha")) {
    const json& alpha = fields.at("lora_alpha");
    if (!alpha.is_number() || !std::isfinite(alpha.get<double>())) fields.fail("lora_alpha", "a number");
    settings.alpha = alpha.get<double>();
  }
  settings.root_rank = fields.flag("use_rslora").value_or(false);
  settings.transposed = fields.flag("fan_in_fan_out").value_or(false);
  for (const char* key : {"use_dora", "use_qalora", "lora_bias"}) fields.only_flag(key, false);
  for (const char* key :
       {"alpha_pattern", "target_parameters", "trainable_token_indices", "layer_replication", "megatron_config",
        "eva_config", "corda_config", "arrow_config", "exclude_modules", "alora_invocation_tokens", "kasa_config",
        "lora_ga_config", "monteclora_config", "use_bdlora", "velora_config"}) {
    if (fields.has(key) && fields.at(key) != false && !fields.at(key).empty())
      fields.fail(key, "null or empty (it is not implemented)");
  }
  if (fields.has("init_lora_weights")) {
    const json& kind = fields.at("init_lora_weights");
    if (!kind.is_boolean() && kind != "gaussian")
      fields.fail("init_lora_weights", "true, false or \"gaussian\" (others change the base's arrays)");
  }
  // What was trained, and how: the arrays of the file say it, their shapes give the rank.
  fields.harmless({"r", "target_modules", "rank_pattern", "layers_to_transform", "layers_pattern", "modules_to_save",
                   "bias", "lora_dropout", "task_type", "inference_mode", "base_model_name_or_path", "revision",
                   "auto_mapping", "peft_version", "megatron_core", "loftq_config", "qalora_group_size",
                   "runtime_config", "ensure_weight_tying"});
  return settings;
}

std::vector<float> floats_of(const TensorView& view, const std::string& subject) {
  if (!is_float_type(view.dtype))
    throw_model(subject + ": expected float weights, got " + std::string(name_of(view.dtype)));
  std::vector<float> values(view.size());
  to_float32(view, 0, values.size(), values.data());
  return values;
}

class MergedSource final : public WeightSource {
 public:
  explicit MergedSource(std::shared_ptr<const WeightSource> base) : base_(std::move(base)) {}

  const TensorView* find(std::string_view name) const override {
    const auto merged = arrays_->find(name);
    return merged == arrays_->end() ? base_->find(name) : &merged->second.view;
  }
  std::vector<std::string> names() const override { return base_->names(); }
  std::shared_ptr<const void> owner() const override {
    return std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<const Arrays>>>(base_->owner(),
                                                                                                         arrays_);
  }
  std::string place(std::string_view name) const override { return base_->place(name); }

  void put(const std::string& name, std::vector<std::size_t> shape, std::vector<float> values) {
    Array& array = (*arrays_)[name];
    array.values = std::move(values);
    array.view = {DType::f32, std::move(shape), reinterpret_cast<const std::byte*>(array.values.data())};
  }
  std::size_t merged() const { return arrays_->size(); }

 private:
  struct Array {
    TensorView view;
    std::vector<float> values;
  };
  using Arrays = std::map<std::string, Array, std::less<>>;

  std::shared_ptr<const WeightSource> base_;
  std::shared_ptr<Arrays> arrays_ = std::make_shared<Arrays>();
};

class Merger {
 public:
  Merger(const WeightSource& adapter, const WeightSource& base, const std::vector<std::string_view>& prefixes,
         const AdapterSettings& settings, MergedSource& out)
      : adapter_(adapter), base_(base), prefixes_(prefixes), settings_(settings), out_(out) {}

  void run() {
    for (const std::string& name : adapter_.names()) {
      if (name.ends_with(".lora_B.weight") || name.ends_with(".lora_embedding_B")) continue;  // with its A
      if (ends(name, ".lora_A.weight", ".lora_B.weight")) continue;
      if (ends(name, ".lora_embedding_A", ".lora_embedding_B")) continue;
      replace(name);
    }
    for (const std::string& name : adapter_.names()) {
      if (!name.ends_with(".lora_B.weight") && !name.ends_with(".lora_embedding_B")) continue;
      std::string partner = name;
      partner.replace(partner.rfind("_B"), 2, "_A");
      if (adapter_.find(partner) == nullptr) refuse(name, "expected " + partner + " beside it, found none");
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& why) const {
    throw_model(adapter_.place(name) + ": tensor " + name + ": " + why);
  }

  /// Merges A and its partner if the name ends as an A does.
  bool ends(const std::string& name, std::string_view a_end, std::string_view b_end) {
    if (!name.ends_with(a_end)) return false;
    const std::string module = name.substr(0, name.size() - a_end.size());
    const std::string b_name = module + std::string(b_end);
    const TensorView* b = adapter_.find(b_name);
    if (b == nullptr) refuse(name, "expected " + b_name + " beside it, found none");
    merge(name, *adapter_.find(name), *b, base_name(name, module + ".weight"), a_end == ".lora_embedding_A");
    return true;
  }

  /// W [out, in] += s · B [out, r] · A [r, in]; of an embedding (and of a transposed layer) W is [in, out].
  void merge(const std::string& name, const TensorView& a, const TensorView& b, const std::string& target,
             bool embedding) {
    const TensorView& w = *base_.find(target);
    const std::size_t rank = a.shape.empty() ? 0 : a.shape[0];
    if (a.shape.size() != 2 || b.shape.size() != 2 || rank == 0 || b.shape[1] != rank)
      refuse(name,
             "expected [rank, inputs] and [outputs, rank], got " + shape_text(a.shape) + " and " + shape_text(b.shape));
    const std::size_t inputs = a.shape[1];
    const std::size_t outputs = b.shape[0];
    const bool transposed = embedding || settings_.transposed;
    const std::vector<std::size_t> shape =
        transposed ? std::vector<std::size_t>{inputs, outputs} : std::vector<std::size_t>{outputs, inputs};
    if (w.shape != shape) {
      refuse(name,
             "expected an adapter of " + target + " " + shape_text(w.shape) + ", got one of " + shape_text(shape));
    }
    std::vector<float> values = floats_of(w, base_.place(target) + ": tensor " + target);
    const std::vector<float> down = floats_of(a, adapter_.place(name) + ": tensor " + name);
    const std::vector<float> up = floats_of(b, adapter_.place(name) + ": partner of tensor " + name);
    const double r = static_cast<double>(rank);
    const double scale = settings_.alpha / (settings_.root_rank ? std::sqrt(r) : r);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < inputs; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < rank; ++k)
          sum += static_cast<double>(up[o * rank + k]) * static_cast<double>(down[k * inputs + i]);
        float& value = values[transposed ? i * outputs + o : o * inputs + i];
        value = static_cast<float>(static_cast<double>(value) + scale * sum);
      }
    }
    out_.put(target, shape, std::move(values));
  }

  /// An array that was trained whole (a bias, or one of modules_to_save).
  void replace(const std::string& name) {
    std::string plain = name;
    if (const std::size_t saved = plain.find(".modules_to_save."); saved != std::string::npos) {
      plain.erase(saved, std::string_view(".modules_to_save").size());
    }
    const std::string target = base_name(name, plain);
    const TensorView& view = *adapter_.find(name);
    if (view.shape != base_.find(target)->shape) {
      refuse(name, "expected shape " + shape_text(base_.find(target)->shape) + ", got " + shape_text(view.shape));
    }
    out_.put(target, view.shape, floats_of(view, adapter_.place(name) + ": tensor " + name));
  }

  /// The base's name of an array of the adapter.
  std::string base_name(const std::string& name, std::string plain) const {
    if (!plain.starts_with(kModel)) refuse(name, "expected a name that begins with " + std::string(kModel));
    plain.erase(0, kModel.size());
    if (const std::size_t layer = plain.find(".base_layer."); layer != std::string::npos)
      plain.erase(layer, std::string_view(".base_layer").size());
    if (base_.find(plain) != nullptr) return plain;
    for (const std::string_view prefix : prefixes_) {
      std::string longer = std::string(prefix) + plain;
      if (base_.find(longer) != nullptr) return longer;
      if (!prefix.empty() && plain.starts_with(prefix) && base_.find(plain.substr(prefix.size())) != nullptr)
        return plain.substr(prefix.size());
    }
    refuse(name, "expected an adapter of one of the base's arrays, found no " + plain);
  }

  const WeightSource& adapter_;
  const WeightSource& base_;
  const std::vector<std::string_view>& prefixes_;
  const AdapterSettings& settings_;
  MergedSource& out_;
};

}  // namespace

bool has_adapter(const FileSet& files) { return files.has(kConfig); }

std::shared_ptr<const WeightSource> merged_adapter(const FileSet& files, std::shared_ptr<const WeightSource> base,
                                                   const std::vector<std::string_view>& prefixes,
                                                   std::vector<Decision>& decisions,
                                                   std::vector<std::string>& unknown) {
  const FileBytes file = files.open(kConfig);
  const json object = parse_json(file.text(), file.origin);
  const JsonFields fields(object, "adapter", files.place(kConfig));
  const AdapterSettings settings = read_settings(fields);
  for (const std::string& key : fields.unread()) unknown.push_back(std::string(kConfig) + ": " + key);
  if (!files.has(kWeights)) {
    throw_model("adapter: " + files.place(kWeights) +
                ": no such file; adapters in other formats must be converted to safetensors first");
  }
  const auto adapter = safetensors_source(files, kWeights);
  auto merged = std::make_shared<MergedSource>(base);
  Merger(*adapter, *base, prefixes, settings, *merged).run();
  decisions.push_back({"adapter", "LoRA, merged into " + std::to_string(merged->merged()) + " arrays", kConfig});
  return merged;
}

}  // namespace mha
