#include "model/families/family.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "core/nearest.hpp"
#include "mha/core/error.hpp"

namespace mha {
namespace {

using nlohmann::json;

std::span<const Family* const> families() {
  static constexpr const Family* kAll[] = {&kBert,
                                           &kRoberta,
                                           &kDistilbert,
                                           &kMpnet,
                                           &kAlbert,
                                           &kElectra,
                                           &kDeberta,
                                           &kDebertaV2,
                                           &kModernBert,
                                           &kNomicBert,
                                           &kGte,
                                           &kT5,
                                           &kMt5,
                                           &kUmt5,
                                           &kMarian,
                                           &kRoformer,
                                           &kEuroBert,
                                           &kEsm,
                                           &kTransformerEncoder,
                                           &kMhaJson};
  return kAll;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string model_type_of(const json& config, const std::string& file) {
  if (!config.is_object()) throw_model(file + ": expected an object, got JSON of another kind");
  auto it = config.find("model_type");
  if (it != config.end() && it->is_string()) return it->get<std::string>();
  throw_model(file + ": model_type: expected the name of a family (" + joined(family_names()) + "), got " +
              (it == config.end() ? std::string("none") : it->dump()));
}

}  // namespace

const HeadNames& HeadTable::of(Task task) const {
  switch (task) {
    case Task::fill_mask:
      return fill_mask;
    case Task::classify:
      return classify;
    case Task::tag:
      return tag;
    case Task::answer:
      return answer;
  }
  throw_internal("task: a value that has no head");
}

const Family* family_named(std::string_view model_type) {
  for (const Family* family : families()) {
    if (std::find(family->model_types.begin(), family->model_types.end(), model_type) != family->model_types.end())
      return family;
  }
  return nullptr;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const Family* family : families())
    names.insert(names.end(), family->model_types.begin(), family->model_types.end());
  std::sort(names.begin(), names.end());
  return names;
}

FamilyModel read_family(const json& config, const std::string& file, std::string_view model_type) {
  const std::string type = model_type.empty() ? model_type_of(config, file) : std::string(model_type);
  const Family* family = family_named(type);
  if (family == nullptr) {
    const auto near = nearest(type, family_names());
    throw_model(file + ": model_type: expected an encoder family (" + joined(family_names()) + "), got \"" + type +
                "\"" + (near ? "; did you mean " + *near + "?" : ""));
  }
  FamilyModel model;
  model.names = family->names;
  model.heads = family->heads;
  model.decisions.push_back({"family", type, file + ": model_type"});
  ConfigReader read(config, file, model.decisions);
  // Other number types, files or layers than the rest of the configuration says: the reference acts on these keys in
  // every family.
  for (const char* key : {"quantization_config", "per_layer_config", "transformers_weights"}) read.only_null(key);
  model.config = family->config(read);
  model.config.family = type;
  if (family->adapt != nullptr) family->adapt(read, model.config, model.names, model.heads);
  model.config.validate();
  model.ignored_keys = read.unread();
  if (auto it = config.find("architectures"); it != config.end() && it->is_array()) {
    for (const json& name : *it) {
      if (name.is_string()) model.architectures.push_back(name.get<std::string>());
    }
  }
  if (auto it = config.find("tie_word_embeddings"); it != config.end() && it->is_boolean()) {
    model.tie_word_embeddings = it->get<bool>();
  }
  return model;
}

ModelConfig read_bert_block(ConfigReader& read, double default_eps) {
  ModelConfig c;
  c.d_model = read.size("d_model", {"hidden_size"});
  c.n_layers = read.size("n_layers", {"num_hidden_layers"});
  c.n_heads = c.n_kv_heads = read.size("n_heads", {"num_attention_heads"});
  read.check_heads(c.d_model, "hidden_size", c.n_heads, "num_attention_heads");
  c.d_head = c.d_model / c.n_heads;
  c.d_ff = read.size("d_ff", {"intermediate_size"});
  c.vocab_size = read.size("vocab_size", {"vocab_size"});
  c.norm = NormConfig{NormKind::layer_norm, NormOrder::post,
                      read.epsilon_or("layer_norm_eps", {"layer_norm_eps"}, default_eps)};
  c.embedding_norm = true;
  c.pad_token_id = read.token_id("pad_token_id", {"pad_token_id"});
  read.only_flag("is_decoder", false);
  read.only_flag("add_cross_attention", false);
  return c;
}

void read_rotary(ConfigReader& read, const json* parameters, double default_base, double& base, double& divisor) {
  base = default_base;
  divisor = 1.0;
  if (parameters == nullptr) return;
  std::vector<Decision> decisions;
  ConfigReader inner(*parameters, read.file(), decisions, "rope_parameters.");
  base = inner.positive_or("rotary_base", {"rope_theta"}, default_base);
  const std::string type = inner.text_or("rotary_type", {"rope_type", "type"}, "default");
  if (type == "linear") {
    if (!inner.has("factor")) inner.fail("factor", "a number, since rope_type is linear", "none");
    divisor = inner.positive_or("rotary_divisor", {"factor"}, 1.0);
  } else if (type != "default") {
    inner.fail("rope_type", "default or linear (other kinds are not implemented)", "\"" + type + "\"");
  }
  inner.only_number("partial_rotary_factor", 1.0);
  for (const std::string& key : inner.unread()) {
    if ((*parameters)[key].is_object())
      inner.fail(key, "one rotation for all layers (one per kind of layer is not implemented here)", "an object");
    if (type != "linear" && key == "factor") continue;  // read for a scaled rotation only
    read.unknown("rope_parameters." + key);
  }
  for (Decision& decision : decisions) read.note(decision.what, decision.value, decision.from);
}

}  // namespace mha
