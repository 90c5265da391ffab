#include "model/head_labels.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "io/json.hpp"
#include "mha/core/error.hpp"
#include "model/json_fields.hpp"
#include "model/opened_model.hpp"

namespace mha {
namespace {

using nlohmann::json;

void read_names(const JsonFields& config, std::vector<std::string>& names) {
  const json& object = config.at("id2label");
  const std::string expected = "labels 0 to " + std::to_string(names.size() - 1) + ", as the head has";
  if (!object.is_object() || object.size() != names.size()) config.fail("id2label", expected);
  for (const auto& [key, value] : object.items()) {
    std::size_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id >= names.size() || !value.is_string()) {
      config.fail("id2label", expected);
    }
    names[id] = value.get<std::string>();
  }
}

bool begins_with_entail(const std::string& label) {
  constexpr std::string_view kWord = "entail";
  if (label.size() < kWord.size()) return false;
  return std::equal(kWord.begin(), kWord.end(), label.begin(),
                    [](char word, char c) { return word == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c); });
}

std::optional<std::size_t> entailment_of(const JsonFields& config, const std::vector<std::string>& names) {
  if (!config.has("label2id")) {
    const auto label = std::find_if(names.begin(), names.end(), begins_with_entail);
    if (label == names.end()) return std::nullopt;
    return static_cast<std::size_t>(label - names.begin());
  }
  const JsonFields ids(config.at("label2id"), "config", config.origin() + ": label2id");
  for (const std::string& label : ids.keys()) {
    if (!begins_with_entail(label)) continue;
    const auto id = ids.size(label);
    if (!id || *id >= names.size()) ids.fail(label, "an output of the head, 0 to " + std::to_string(names.size() - 1));
    return id;
  }
  return std::nullopt;
}

// sentence-transformers 4 and later keep the activation in an object of their own, older ones beside the model's keys.
bool is_raw_score(const JsonFields& config, const std::string& origin) {
  std::optional<std::string> activation;
  if (config.has("sentence_transformers")) {
    const JsonFields own(config.at("sentence_transformers"), "config", origin + ": sentence_transformers");
    activation = own.text("activation_fn");
  }
  if (!activation && config.has("sbert_ce_default_activation_function")) {
    activation = config.text("sbert_ce_default_activation_function");
  }
  if (!activation || activation->ends_with(".Sigmoid")) return false;
  if (activation->ends_with(".Identity")) return true;
  throw_model("config: " + origin + ": activation of the pair's score: expected Sigmoid or Identity, got \"" +
              *activation + '"');
}

}  // namespace

HeadLabels read_head_labels(const ModelHeader& header, std::size_t outputs) {
  HeadLabels labels;
  for (std::size_t i = 0; i < outputs; ++i) labels.names.push_back("LABEL_" + std::to_string(i));
  const OpenedModel& opened = *header.opened;
  if (opened.json != nullptr) return labels;
  const FileBytes file = opened.files->open(opened.config_name);
  const json object = parse_json(file.text(), file.origin);
  const JsonFields config(object, "config", file.origin);
  if (config.has("id2label")) read_names(config, labels.names);
  labels.entailment = entailment_of(config, labels.names);
  labels.problem_type = config.text("problem_type").value_or("");
  constexpr std::string_view kKnown[] = {"", "regression", "single_label_classification", "multi_label_classification"};
  bool known = false;
  for (const std::string_view type : kKnown) known = known || labels.problem_type == type;
  if (!known) config.fail("problem_type", "regression, single_label_classification or multi_label_classification");
  if (labels.problem_type == "single_label_classification" && outputs == 1)
    config.fail("problem_type", "regression or multi_label_classification, since the head has one label");
  labels.cross_encoder_raw =
      header.sentence.raw_scores ? *header.sentence.raw_scores : is_raw_score(config, file.origin);
  return labels;
}

}  // namespace mha
