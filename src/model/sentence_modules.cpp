#include "model/sentence_modules.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "mha/core/error.hpp"
#include "model/json_fields.hpp"
#include "ops/convert.hpp"

namespace mha {

namespace {

using nlohmann::json;

json read_json(const FileSet& files, const std::string& name) {
  const FileBytes file = files.open(name);
  return parse_json(file.text(), file.origin);
}

/// A mode in both dialects. The order is that in which the reference joins them when the older flags are set
/// (sentence-transformers, Pooling.forward).
struct ModeName {
  PoolingMode mode;
  std::string_view name;  // newer: the value of pooling_mode
  std::string_view flag;  // older: a key that is true
};
constexpr std::array<ModeName, 6> kModes{{
    {PoolingMode::cls, "cls", "pooling_mode_cls_token"},
    {PoolingMode::max, "max", "pooling_mode_max_tokens"},
    {PoolingMode::mean, "mean", "pooling_mode_mean_tokens"},
    {PoolingMode::mean_sqrt_len, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    {PoolingMode::weighted_mean, "weightedmean", "pooling_mode_weightedmean_tokens"},
    {PoolingMode::last, "lasttoken", "pooling_mode_lasttoken"},
}};

std::string known_modes() {
  std::string text;
  for (const ModeName& mode : kModes) text += (text.empty() ? "" : ", ") + std::string(mode.name);
  return text;
}

void read_newer_modes(const JsonFields& fields, std::vector<PoolingMode>& modes) {
  const json& value = fields.at("pooling_mode");
  const auto add = [&](const json& entry) {
    if (!entry.is_string()) fields.fail("pooling_mode", "the name of a mode or an array of names");
    const auto mode = pooling_mode_of(entry.get_ref<const std::string&>());
    if (!mode) {
      fields.fail_text("pooling_mode", "expected one of " + known_modes() + ", got " + json_excerpt(entry) +
                                           "; this mode is not implemented");
    }
    modes.push_back(*mode);
  };
  if (value.is_array()) {
    for (const json& entry : value) add(entry);
    if (modes.empty()) fields.fail("pooling_mode", "at least one mode");
  } else {
    add(value);
  }
}

/// Whether any of the older keys was there.
bool read_older_modes(const JsonFields& fields, std::vector<PoolingMode>& modes) {
  constexpr std::string_view kPrefix = "pooling_mode_";
  bool any = false;
  for (const std::string& key : fields.keys()) {
    if (!key.starts_with(kPrefix)) continue;
    any = true;
    const bool known = std::any_of(kModes.begin(), kModes.end(), [&](const ModeName& m) { return m.flag == key; });
    if (!known && fields.flag(key).value_or(false)) {
      fields.fail_text(key, "expected one of the modes " + known_modes() + "; this mode is not implemented");
    }
  }
  for (const ModeName& mode : kModes) {
    if (fields.flag(mode.flag).value_or(false)) modes.push_back(mode.mode);
  }
  if (any && modes.empty()) fields.fail_text("pooling_mode_*", "expected at least one mode that is true, found none");
  return any;
}

void read_pooling(const FileSet& files, const std::string& name, SentenceModules& out) {
  const json object = read_json(files, name);
  const JsonFields fields(object, "pooling", files.place(name));
  out.config.pooling.clear();
  const bool newer = fields.has("pooling_mode");
  bool assumed = false;
  if (newer) {
    read_newer_modes(fields, out.config.pooling);
  } else if (!read_older_modes(fields, out.config.pooling)) {
    out.config.pooling = {PoolingMode::mean};
    assumed = true;
  }
  out.decisions.push_back(
      {"pooling", text_of(out.config.pooling),
       assumed ? "assumed: no mode in " + name : name + (newer ? ":pooling_mode" : ":pooling_mode_*")});
  if (const auto include = fields.flag("include_prompt")) {
    out.config.include_prompt = *include;
    out.decisions.push_back({"include_prompt", *include ? "true" : "false", name + ":include_prompt"});
  }
  for (const char* key : {"word_embedding_dimension", "embedding_dimension"}) {
    if (const auto width = fields.size(key)) {
      out.pooled_width = *width;
      out.pooled_width_from = fields.origin() + ": " + key;
    }
  }
}

Activation dense_activation(const JsonFields& fields) {
  struct Named {
    std::string_view name;
    Activation activation;
  };
  constexpr std::array<Named, 5> kActivations{{{"Identity", Activation::none},
                                               {"Tanh", Activation::tanh},
                                               {"ReLU", Activation::relu},
                                               {"GELU", Activation::gelu},
                                               {"SiLU", Activation::silu}}};
  const auto name = fields.text("activation_function");
  if (!name) return Activation::tanh;  // the reference's default (sentence-transformers, Dense.__init__)
  for (const Named& known : kActivations) {
    for (const char* module : {"torch.nn.modules.activation.", "torch.nn.modules.linear.", "torch.nn."}) {
      if (*name == module + std::string(known.name)) return known.activation;
    }
  }
  fields.fail("activation_function", "Identity, Tanh, ReLU, GELU or SiLU of torch.nn");
}

/// Newer modules may be told to work on other features than the sentence vector.
void require_sentence_features(const JsonFields& fields) {
  for (const char* key : {"module_input_name", "module_output_name"}) {
    const auto name = fields.text(key);
    if (name && *name != "sentence_embedding") fields.fail(key, "\"sentence_embedding\", the only one implemented");
  }
}

DenseModule read_dense(const FileSet& files, const std::string& folder) {
  const std::string name = folder + "/config.json";
  const json object = read_json(files, name);
  const JsonFields fields(object, "dense module", files.place(name));
  require_sentence_features(fields);
  DenseModule dense;
  dense.folder = folder;
  for (const auto& [key, value] :
       {std::pair<const char*, std::size_t*>{"in_features", &dense.in}, {"out_features", &dense.out}}) {
    constexpr std::size_t kWidest = std::size_t{1} << 20;
    const auto width = fields.size(key);
    if (!width || *width == 0 || *width > kWidest) fields.fail(key, "a whole number from 1 to 1048576");
    *value = *width;
  }
  dense.bias = fields.flag("bias").value_or(true);
  dense.activation = dense_activation(fields);
  return dense;
}

/// `sentence_transformers.models.Pooling` or `sentence_transformers.sentence_transformer.modules.pooling.Pooling`:
/// the class name, or nothing for a class that sentence-transformers does not have at that place.
std::optional<std::string> module_class(const std::string& type) {
  const std::size_t dot = type.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  const std::string module = type.substr(0, dot);
  std::string name = type.substr(dot + 1);
  std::string lower;
  for (const char c : name) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string& known :
       {std::string("sentence_transformers.models"), "sentence_transformers.models." + name,
        "sentence_transformers.base.modules." + lower, "sentence_transformers.sentence_transformer.modules." + lower}) {
    if (module == known) return name;
  }
  return std::nullopt;
}

void read_modules(const FileSet& files, SentenceModules& out) {
  const std::string kFile = "modules.json";
  const json modules = read_json(files, kFile);
  const std::string origin = files.place(kFile);
  if (!modules.is_array()) throw_model("modules: " + origin + ": expected an array, got " + json_excerpt(modules));
  bool pooled = false;
  bool transformer = false;
  bool normalized = false;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::string place = origin + ": module " + std::to_string(i);
    const JsonFields fields(modules[i], "modules", place);
    const auto type = fields.text("type");
    if (!type) fields.fail("type", "the class of a module");
    const std::string folder = fields.text("path").value_or("");
    if (!folder.empty() && !is_inside_name(folder)) {
      fields.fail("path", "a folder inside the model; a model must not reach outside its folder");
    }
    const std::string name = module_class(*type).value_or("");
    const auto require_pooled = [&] {
      if (!pooled) fields.fail("type", "Pooling before this module");
    };
    if (name == "Transformer") {
      if (i != 0) fields.fail("type", "Transformer as the first module only");
      transformer = true;
      out.transformer_folder = folder;
    } else if (i == 0) {
      fields.fail("type", "Transformer as the first module");
    } else if (name == "Pooling") {
      if (pooled) fields.fail("type", "one Pooling module only");
      if (normalized) fields.fail("type", "Pooling before Normalize");
      pooled = true;
      read_pooling(files, (folder.empty() ? "" : folder + "/") + "config.json", out);
    } else if (name == "Dense") {
      require_pooled();
      if (folder.empty()) fields.fail("path", "the folder of the dense module");
      DenseModule dense = read_dense(files, folder);
      dense.normalize_input = std::exchange(normalized, false);
      out.decisions.push_back({"dense", std::to_string(dense.in) + " → " + std::to_string(dense.out),
                               folder + "/config.json:in_features, out_features"});
      out.config.dense.push_back(std::move(dense));
    } else if (name == "Normalize") {
      require_pooled();
      if (!folder.empty() && files.has(folder + "/config.json")) {
        const json object = read_json(files, folder + "/config.json");
        require_sentence_features(JsonFields(object, "normalize module", files.place(folder + "/config.json")));
      }
      normalized = true;
    } else if (name == "Dropout") {
      out.decisions.push_back({"dropout", "none: it does nothing outside training", kFile + ":type"});
    } else {
      fields.fail_text("type",
                       "expected Transformer, Pooling, Dense, Normalize or Dropout of sentence_transformers, "
                       "got " +
                           json_excerpt(fields.at("type")) + "; this module is not implemented");
    }
  }
  if (!transformer) throw_model("modules: " + origin + ": expected a Transformer module, found none");
  if (!pooled) out.decisions.push_back({"pooling", "mean", "assumed: no Pooling in " + kFile});
  out.config.normalize = normalized;
  out.decisions.push_back(
      {"normalize", normalized ? "l2" : "none", normalized ? kFile + ":type" : "assumed: no Normalize in " + kFile});
}

/// The newer dialect names the task; another one makes other features than token vectors.
void require_token_features(const JsonFields& fields) {
  const auto require = [](const JsonFields& in, const char* key, std::string_view expected) {
    const auto value = in.text(key);
    if (value && *value != expected) in.fail(key, "\"" + std::string(expected) + "\", the only one implemented");
  };
  require(fields, "transformer_task", "feature-extraction");
  require(fields, "module_output_name", "token_embeddings");
  if (!fields.has("modality_config")) return;
  const JsonFields modalities(fields.at("modality_config"), "sentence config", fields.origin() + ": modality_config");
  if (!modalities.has("text")) modalities.fail("text", "a text modality");
  const JsonFields text(modalities.at("text"), "sentence config", fields.origin() + ": modality_config.text");
  require(text, "method", "forward");
  require(text, "method_output_name", "last_hidden_state");
}

void read_sentence_config(const FileSet& files, SentenceModules& out) {
  // The older names, in the order in which the reference looks (sentence-transformers, Transformer.load).
  constexpr std::array<const char*, 7> kNames{"sentence_bert_config.json",       "sentence_roberta_config.json",
                                              "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                              "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                              "sentence_xlnet_config.json"};
  const std::string prefix = out.transformer_folder.empty() ? "" : out.transformer_folder + "/";
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const char* n) { return files.has(prefix + n); });
  if (found == kNames.end()) return;
  const std::string name = prefix + *found;
  const json object = read_json(files, name);
  const JsonFields fields(object, "sentence config", files.place(name));
  require_token_features(fields);
  if (const auto length = fields.size("max_seq_length")) {
    if (*length == 0) fields.fail("max_seq_length", "at least 1");
    out.max_length = *length;
    out.max_length_from = name + ":max_seq_length";
  }
  if (const auto lowercase = fields.flag("do_lower_case")) {
    out.lowercase = *lowercase;
    out.lowercase_from = name + ":do_lower_case";
  }
}

void read_prompts(const FileSet& files, SentenceModules& out) {
  const std::string kFile = "config_sentence_transformers.json";
  if (!files.has(kFile)) return;
  const json object = read_json(files, kFile);
  const JsonFields fields(object, "sentence config", files.place(kFile));
  if (fields.has("prompts")) {
    const JsonFields prompts(fields.at("prompts"), "sentence config", fields.origin() + ": prompts");
    for (const std::string& key : prompts.keys()) {
      const auto text = prompts.text(key);
      if (!text) prompts.fail(key, "a text");
      out.config.prompts[key] = *text;
      out.decisions.push_back({"prompt " + key, json(*text).dump(), kFile + ":prompts"});
    }
  }
  if (const auto name = fields.text("default_prompt_name")) {
    if (out.config.prompts.count(*name) == 0) fields.fail("default_prompt_name", "the name of one of the prompts");
    out.config.default_prompt_name = *name;
    out.decisions.push_back({"default prompt", *name, kFile + ":default_prompt_name"});
  }
  if (const auto similarity = fields.text("similarity_fn_name")) {
    constexpr std::array<std::string_view, 4> kKnown{"cosine", "dot", "euclidean", "manhattan"};
    if (std::find(kKnown.begin(), kKnown.end(), *similarity) == kKnown.end()) {
      fields.fail("similarity_fn_name", "cosine, dot, euclidean or manhattan");
    }
    out.config.similarity = *similarity;
    out.decisions.push_back({"similarity", *similarity, kFile + ":similarity_fn_name"});
  }
}

}  // namespace

std::optional<PoolingMode> pooling_mode_of(std::string_view file_name) {
  for (const ModeName& mode : kModes) {
    if (mode.name == file_name) return mode.mode;
  }
  return std::nullopt;
}

SentenceModules read_sentence_modules(const FileSet& files) {
  SentenceModules out;
  if (files.has("modules.json")) {
    read_modules(files, out);
  } else if (files.has("1_Pooling/config.json")) {
    read_pooling(files, "1_Pooling/config.json", out);
    out.decisions.push_back({"normalize", "none", "assumed: no modules.json"});
  } else {
    out.decisions.push_back({"pooling", "mean", "assumed: no modules.json"});
    out.decisions.push_back({"normalize", "none", "assumed: no modules.json"});
  }
  read_sentence_config(files, out);
  read_prompts(files, out);
  return out;
}

void check_sentence_widths(const SentenceModules& modules, std::size_t d_model, const std::string& origin) {
  if (modules.pooled_width && *modules.pooled_width != d_model) {
    throw_model("pooling: " + modules.pooled_width_from + ": expected the model's width " + std::to_string(d_model) +
                ", got " + std::to_string(*modules.pooled_width));
  }
  std::size_t width = d_model * modules.config.pooling.size();
  for (const DenseModule& dense : modules.config.dense) {
    if (dense.in != width) {
      throw_model("dense module: " + origin + "/" + dense.folder + ": inputs: expected " + std::to_string(width) +
                  ", what the module before gives, got " + std::to_string(dense.in));
    }
    width = dense.out;
  }
}

void bind_dense(DenseModule& dense, const WeightSource& source, const std::string& prefix) {
  const auto take = [&](const std::string& name, const std::vector<std::size_t>& shape) {
    const TensorView* view = source.find(name);
    const std::string place = source.place(name) + ": tensor " + name;
    if (view == nullptr) throw_model(place + ": expected shape " + shape_text(shape) + ", found no such tensor");
    if (view->shape != shape) {
      throw_model(place + ": expected shape " + shape_text(shape) + ", got " + shape_text(view->shape));
    }
    Weight weight{name, *view, {}};
    if (view->dtype == DType::i8) {
      const TensorView* scale = source.find(name + ".scale");
      if (scale == nullptr || scale->dtype != DType::f32 || scale->shape != std::vector<std::size_t>{shape[0]}) {
        throw_model(place + ": expected " + name + ".scale, F32 [" + std::to_string(shape[0]) + "], beside I8 values");
      }
      weight.scale = *scale;
    } else if (!is_float_type(view->dtype)) {
      throw_model(place + ": expected float weights or I8, got " + std::string(name_of(view->dtype)));
    }
    return weight;
  };
  dense.linear.weight = take(prefix + "weight", {dense.out, dense.in});
  if (dense.bias) {
    dense.linear.bias = take(prefix + "bias", {dense.out});
  } else if (source.find(prefix + "bias") != nullptr) {
    throw_model(source.place(prefix + "bias") + ": tensor " + prefix +
                "bias: expected none, since the module's bias is false");
  }
  dense.owner = source.owner();
}

}  // namespace mha
