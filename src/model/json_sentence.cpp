#include "model/json_sentence.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "mha/core/error.hpp"
#include "model/json_fields.hpp"

namespace mha {

namespace {

using nlohmann::json;

constexpr std::array<std::pair<const char*, Activation>, 5> kActivations{{{"none", Activation::none},
                                                                          {"tanh", Activation::tanh},
                                                                          {"relu", Activation::relu},
                                                                          {"gelu", Activation::gelu},
                                                                          {"silu", Activation::silu}}};

constexpr std::array<const char*, 10> kKeys{"pooling",    "normalize",      "max_length", "lowercase",
                                            "dense",      "include_prompt", "prompts",    "default_prompt_name",
                                            "similarity", "truncate_dim"};

PoolingMode mode_of(const JsonFields& fields, const json& name) {
  if (name.is_string()) {
    if (const auto mode = pooling_mode_named(name.get_ref<const std::string&>())) return *mode;
  }
  fields.fail_text("pooling",
                   "expected cls, mean, max, last, mean_sqrt_len, weighted_mean or pooler, got " + json_excerpt(name));
}

DenseModule dense_of(const json& object, std::size_t index, const std::string& origin) {
  const JsonFields fields(object, "config", origin + ": dense[" + std::to_string(index) + "]");
  DenseModule dense;
  dense.folder = "dense." + std::to_string(index);
  for (const auto& [key, width] : {std::pair<const char*, std::size_t*>{"in", &dense.in}, {"out", &dense.out}}) {
    *width = fields.size(key).value_or(0);
    if (*width == 0 || *width > (std::size_t{1} << 20)) fields.fail(key, "a whole number from 1 to 1048576");
  }
  dense.bias = fields.flag("bias").value_or(true);
  dense.normalize_input = fields.flag("normalize_input").value_or(false);
  dense.residual = fields.flag("residual").value_or(false);
  const std::string activation = fields.text("activation").value_or("tanh");
  const auto found = std::find_if(kActivations.begin(), kActivations.end(),
                                  [&](const auto& known) { return known.first == activation; });
  if (found == kActivations.end()) fields.fail("activation", "none, tanh, relu, gelu or silu");
  dense.activation = found->second;
  for (const std::string& key : fields.unread()) fields.fail_text(key, "expected a key of a dense module");
  return dense;
}

void take_prompts(const JsonFields& fields, SentenceModules& out) {
  if (fields.has("prompts")) {
    const JsonFields prompts(fields.at("prompts"), "config", fields.origin() + ": prompts");
    for (const std::string& key : prompts.keys()) {
      const auto text = prompts.text(key);
      if (!text) prompts.fail(key, "a text");
      out.config.prompts[key] = *text;
    }
  }
  out.config.default_prompt_name = fields.text("default_prompt_name").value_or("");
  if (!out.config.default_prompt_name.empty() && out.config.prompts.count(out.config.default_prompt_name) == 0) {
    fields.fail("default_prompt_name", "the name of one of the prompts");
  }
  out.config.similarity = fields.text("similarity").value_or("cosine");
  constexpr std::array<std::string_view, 4> kKnown{"cosine", "dot", "euclidean", "manhattan"};
  if (std::find(kKnown.begin(), kKnown.end(), out.config.similarity) == kKnown.end()) {
    fields.fail("similarity", "cosine, dot, euclidean or manhattan");
  }
}

}  // namespace

SentenceModules take_json_sentence(json& config, const std::string& file, const std::string& origin) {
  SentenceModules out;
  {
    const JsonFields fields(config, "config", origin);
    if (fields.has("pooling")) {
      const json& pooling = fields.at("pooling");
      out.config.pooling.clear();
      if (pooling.is_array()) {
        for (const json& name : pooling) out.config.pooling.push_back(mode_of(fields, name));
        if (out.config.pooling.empty()) fields.fail("pooling", "at least one mode");
      } else {
        out.config.pooling.push_back(mode_of(fields, pooling));
      }
    }
    out.config.normalize = fields.flag("normalize").value_or(false);
    out.config.include_prompt = fields.flag("include_prompt").value_or(true);
    if (fields.has("dense")) {
      const json& dense = fields.at("dense");
      if (!dense.is_array()) fields.fail("dense", "an array of dense modules");
      for (std::size_t i = 0; i < dense.size(); ++i) out.config.dense.push_back(dense_of(dense[i], i, origin));
    }
    if (const auto dims = fields.size("truncate_dim")) {
      if (*dims == 0) fields.fail("truncate_dim", "at least 1");
      out.config.truncate_dim = *dims;
      out.decisions.push_back({"dims", "the first " + std::to_string(*dims), file + ":truncate_dim"});
    }
    if (const auto length = fields.size("max_length")) {
      if (*length == 0) fields.fail("max_length", "at least 1");
      out.max_length = *length;
      out.max_length_from = file + ":max_length";
    }
    out.lowercase = fields.flag("lowercase").value_or(false);
    if (out.lowercase) out.lowercase_from = file + ":lowercase";
    take_prompts(fields, out);

    out.decisions.push_back({"pooling", text_of(out.config.pooling),
                             fields.has("pooling") ? file + ":pooling" : "assumed: no key pooling"});
    out.decisions.push_back({"normalize", out.config.normalize ? "l2" : "none",
                             fields.has("normalize") ? file + ":normalize" : "assumed: no key normalize"});
  }
  for (const char* key : kKeys) config.erase(key);
  return out;
}

void add_json_sentence(json& config, const SentenceModules& sentence) {
  const SentenceConfig& from = sentence.config;
  if (from.pooling.size() == 1) {
    config["pooling"] = name_of(from.pooling.front());
  } else {
    json& modes = config["pooling"] = json::array();
    for (const PoolingMode mode : from.pooling) modes.push_back(name_of(mode));
  }
  config["normalize"] = from.normalize;
  if (sentence.max_length) config["max_length"] = *sentence.max_length;
  if (sentence.lowercase) config["lowercase"] = true;
  if (from.truncate_dim != 0) config["truncate_dim"] = from.truncate_dim;
  if (!from.include_prompt) config["include_prompt"] = false;
  if (!from.prompts.empty()) config["prompts"] = from.prompts;
  if (!from.default_prompt_name.empty()) config["default_prompt_name"] = from.default_prompt_name;
  if (from.similarity != "cosine") config["similarity"] = from.similarity;
  for (const DenseModule& dense : from.dense) {
    const auto activation = std::find_if(kActivations.begin(), kActivations.end(),
                                         [&](const auto& known) { return known.second == dense.activation; });
    json module{{"in", dense.in},
                {"out", dense.out},
                {"bias", dense.bias},
                {"activation", activation->first},
                {"normalize_input", dense.normalize_input}};
    if (dense.residual) module["residual"] = true;
    config["dense"].push_back(std::move(module));
  }
}

}  // namespace mha
