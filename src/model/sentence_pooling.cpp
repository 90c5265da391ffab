#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/sentence_files.hpp"

namespace mha {
namespace {

using nlohmann::json;

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

std::optional<PoolingMode> mode_of(std::string_view file_name) {
  for (const ModeName& mode : kModes) {
    if (mode.name == file_name) return mode.mode;
  }
  return std::nullopt;
}

void read_newer_modes(const JsonFields& fields, std::vector<PoolingMode>& modes) {
  const json& value = fields.at("pooling_mode");
  const auto add = [&](const json& entry) {
    if (!entry.is_string()) fields.fail("pooling_mode", "the name of a mode or an array of names");
    const auto mode = mode_of(entry.get_ref<const std::string&>());
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
  // With all flags false the reference takes the mean (Pooling, _convert_legacy_pooling_kwargs).
  if (any && modes.empty()) modes.push_back(PoolingMode::mean);
  return any;
}

}  // namespace

void read_pooling(const FileSet& files, const std::string& name, SentenceModules& out) {
  read_json_file(files, name, "pooling", out, [&](const JsonFields& fields) {
    std::vector<PoolingMode>& modes = out.config.pooling;
    modes.clear();
    const bool newer = fields.has("pooling_mode");
    std::vector<PoolingMode> older;
    const bool has_older = read_older_modes(fields, older);  // also read beside the newer key, which wins
    if (newer)
      read_newer_modes(fields, modes);
    else if (has_older)
      modes = older;
    else
      modes = {PoolingMode::mean};
    const std::string from = newer       ? name + ":pooling_mode"
                             : has_older ? name + ":pooling_mode_*"
                                         : "assumed: no mode in " + name;
    out.decisions.push_back({"pooling", text_of(modes), from});
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
  });
}

void read_splade_pooling(const FileSet& files, const std::string& name, SentenceModules& out) {
  SparsePooling& sparse = out.config.sparse.emplace();
  if (!files.has(name)) return;
  read_json_file(files, name, "pooling", out, [&](const JsonFields& fields) {
    const std::string strategy = fields.text("pooling_strategy").value_or("max");
    if (strategy != "max" && strategy != "sum") fields.fail("pooling_strategy", "max or sum");
    const std::string activation = fields.text("activation_function").value_or("relu");
    if (activation != "relu" && activation != "log1p_relu") fields.fail("activation_function", "relu or log1p_relu");
    sparse.sum = strategy == "sum";
    sparse.log_twice = activation == "log1p_relu";
    // The width of the vocabulary, which the head says, and how many tokens the reference takes at a time.
    fields.harmless({"word_embedding_dimension", "embedding_dimension", "chunk_size"});
    out.decisions.push_back({"sparse pooling", strategy + " of " + activation, name});
  });
}

}  // namespace mha
