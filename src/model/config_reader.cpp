#include "model/config_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/numbers.hpp"
#include "mha/core/error.hpp"
#include "mha/encoder/config.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestSize = std::numeric_limits<std::int32_t>::max();

// transformers' ACT2FN: several names mean one function.
constexpr std::array<std::pair<std::string_view, Activation>, 18> kActivations{{
    {"none", Activation::none},
    {"linear", Activation::none},
    {"relu", Activation::relu},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_tanh", Activation::gelu_tanh},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_accurate", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_python_tanh", Activation::gelu_tanh},
    {"quick_gelu", Activation::quick_gelu},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
    {"tanh", Activation::tanh},
    {"relu2", Activation::relu_squared},
    {"relu_squared", Activation::relu_squared},
    {"squared_relu", Activation::relu_squared},
}};

// What configurations carry for training, generation, naming and other programs.
constexpr std::string_view kNeverComputed[] = {
    "architectures",
    "attention_dropout",
    "attention_probs_dropout_prob",
    "auto_map",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "classifier_dropout_prob",
    "cls_token_id",
    "directionality",
    "dropout",
    "dropout_rate",
    "dtype",
    "eos_token_id",
    "finetuning_task",
    "gradient_checkpointing",
    "hidden_dropout_prob",
    "id2label",
    "initializer_factor",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "language",
    "mask_token_id",
    "model_type",
    "name",
    "num_labels",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "problem_type",
    "return_dict",
    "sentence_transformers",
    "sep_token_id",
    "task_specific_params",
    "tie_word_embeddings",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "use_cache",
    "_name_or_path",
    "_attn_implementation",
    "attn_implementation",
    "_num_labels",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
};

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

std::string number_text(double value) {
  std::string text;
  append_float(text, static_cast<float>(value));
  return text;
}

std::string spelled(ConfigReader::Keys keys) {
  std::string text;
  for (std::string_view key : keys) text += (text.empty() ? "" : " or ") + std::string(key);
  return text;
}

}  // namespace

std::optional<Activation> activation_named(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (known == name) return activation;
  }
  return std::nullopt;
}

std::string_view name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::quick_gelu:
      return "quick_gelu";
    case Activation::silu:
      return "silu";
    case Activation::tanh:
      return "tanh";
    case Activation::relu_squared:
      return "relu_squared";
  }
  throw_internal("activation: a value that has no name");
}

ConfigReader::ConfigReader(const json& object, std::string file, std::vector<Decision>& decisions, std::string path)
    : object_(object), file_(std::move(file)), path_(std::move(path)), decisions_(decisions) {
  if (!object_.is_object()) {
    throw_model(file_ + (path_.empty() ? "" : ": " + path_) + ": expected an object, got " + shown(object_));
  }
}

void ConfigReader::fail(std::string_view key, const std::string& expected, const std::string& got) const {
  throw_model(file_ + ": " + path_ + std::string(key) + ": expected " + expected + ", got " + got);
}

bool ConfigReader::has(std::string_view key) const {
  auto it = object_.find(key);
  return it != object_.end() && !it->is_null();
}

const json* ConfigReader::find(std::string_view key) {
  read_.emplace(key);
  auto it = object_.find(key);
  return it != object_.end() && !it->is_null() ? &*it : nullptr;
}

ConfigReader::Found ConfigReader::first(Keys keys, bool null_is_absent) {
  Found found;
  for (std::string_view key : keys) {
    read_.emplace(key);
    auto it = object_.find(key);
    if (found.value == nullptr && it != object_.end() && !(null_is_absent && it->is_null())) found = {key, &*it};
  }
  return found;
}

ConfigReader::Found ConfigReader::required(Keys keys) {
  Found found = first(keys);
  if (found.value == nullptr) {
    throw_model(file_ + ": " + path_ + spelled(keys) + ": expected a value, got none; the configuration is incomplete");
  }
  return found;
}

std::size_t ConfigReader::checked_size(const Found& found, std::size_t least) const {
  const json& value = *found.value;
  const bool fits =
      value.is_number_integer() &&
      (value.is_number_unsigned()
           ? value.get<std::uint64_t>() <= kLargestSize
           : value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= static_cast<std::int64_t>(kLargestSize));
  if (!fits || value.get<std::size_t>() < least) {
    fail(found.key, "a whole number from " + std::to_string(least) + " to " + std::to_string(kLargestSize),
         shown(value));
  }
  return value.get<std::size_t>();
}

void ConfigReader::decide(std::string_view what, std::string value, std::string_view key) {
  decisions_.push_back({std::string(what), std::move(value), file_ + ": " + path_ + std::string(key)});
}

void ConfigReader::assume(std::string_view what, std::string value, Keys keys) {
  decisions_.push_back({std::string(what), std::move(value), "assumed: no " + spelled(keys) + " in " + file_});
}

void ConfigReader::note(std::string_view what, std::string value, std::string from) {
  decisions_.push_back({std::string(what), std::move(value), std::move(from)});
}

std::size_t ConfigReader::size(std::string_view what, Keys keys, std::size_t least) {
  const Found found = required(keys);
  const std::size_t value = checked_size(found, least);
  decide(what, std::to_string(value), found.key);
  return value;
}

std::optional<std::size_t> ConfigReader::optional_size(std::string_view what, Keys keys, std::size_t least) {
  const Found found = first(keys);
  if (found.value == nullptr) return std::nullopt;
  const std::size_t value = checked_size(found, least);
  decide(what, std::to_string(value), found.key);
  return value;
}

std::size_t ConfigReader::size_or(std::string_view what, Keys keys, std::size_t fallback, std::size_t least) {
  if (auto value = optional_size(what, keys, least)) return *value;
  assume(what, std::to_string(fallback), keys);
  return fallback;
}

std::int64_t ConfigReader::integer_or(std::string_view what, Keys keys, std::int64_t fallback) {
  const Found found = first(keys);
  if (found.value == nullptr) {
    assume(what, std::to_string(fallback), keys);
    return fallback;
  }
  const json& value = *found.value;
  const auto largest = static_cast<std::int64_t>(kLargestSize);
  const bool fits =
      value.is_number_integer() &&
      (value.is_number_unsigned() ? value.get<std::uint64_t>() <= kLargestSize
                                  : value.get<std::int64_t>() >= -largest && value.get<std::int64_t>() <= largest);
  if (!fits) fail(found.key, "a whole number", shown(value));
  decide(what, std::to_string(value.get<std::int64_t>()), found.key);
  return value.get<std::int64_t>();
}

std::optional<std::int32_t> ConfigReader::token_id(std::string_view what, Keys keys) {
  auto value = optional_size(what, keys, 0);
  if (!value) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}

double ConfigReader::positive_or(std::string_view what, Keys keys, double fallback) {
  const Found found = first(keys, false);
  if (found.value == nullptr) {
    assume(what, number_text(fallback), keys);
    return fallback;
  }
  const bool fits =
      found.value->is_number() && std::isfinite(found.value->get<double>()) && found.value->get<double>() > 0.0;
  if (!fits) fail(found.key, "a number above 0", shown(*found.value));
  decide(what, shown(*found.value), found.key);
  return found.value->get<double>();
}

double ConfigReader::epsilon_or(std::string_view what, Keys keys, double fallback) {
  const double epsilon = positive_or(what, keys, fallback);
  if (epsilon > kLargestEpsilon) fail(first(keys).key, "at most " + number_text(kLargestEpsilon), number_text(epsilon));
  return epsilon;
}

bool ConfigReader::flag_or(std::string_view what, Keys keys, bool fallback) {
  const Found found = first(keys);
  if (found.value == nullptr) {
    assume(what, fallback ? "true" : "false", keys);
    return fallback;
  }
  if (!found.value->is_boolean()) fail(found.key, "true or false", shown(*found.value));
  decide(what, shown(*found.value), found.key);
  return found.value->get<bool>();
}

std::string ConfigReader::text_or(std::string_view what, Keys keys, std::string_view fallback) {
  const Found found = first(keys);
  if (found.value == nullptr) {
    assume(what, std::string(fallback), keys);
    return std::string(fallback);
  }
  if (!found.value->is_string()) fail(found.key, "a text", shown(*found.value));
  decide(what, found.value->get<std::string>(), found.key);
  return found.value->get<std::string>();
}

Activation ConfigReader::activation_or(std::string_view what, Keys keys, std::string_view fallback) {
  const Found found = first(keys, false);
  if (found.value != nullptr && !found.value->is_string())
    fail(found.key, "the name of an activation", shown(*found.value));
  const std::string name = text_or(what, keys, fallback);
  if (auto activation = activation_named(name)) return *activation;
  fail(found.value != nullptr ? found.key : *keys.begin(),
       "an activation (gelu, gelu_new, gelu_pytorch_tanh, quick_gelu, relu, relu2, silu, tanh, linear)",
       "\"" + name + "\"");
}

void ConfigReader::check_heads(std::size_t d_model, std::string_view d_model_key, std::size_t n_heads,
                               std::string_view heads_key) const {
  if (n_heads != 0 && d_model % n_heads == 0) return;
  fail(heads_key, "a divisor of " + std::string(d_model_key) + " " + std::to_string(d_model), std::to_string(n_heads));
}

void ConfigReader::only_flag(std::string_view key, bool value) {
  const json* found = find(key);
  if (found == nullptr || (found->is_boolean() && found->get<bool>() == value)) return;
  fail(key, std::string(value ? "true" : "false") + " (other values are not implemented)", shown(*found));
}

void ConfigReader::only_text(std::string_view key, std::string_view value) {
  const json* found = find(key);
  if (found == nullptr || (found->is_string() && found->get<std::string>() == value)) return;
  fail(key, "\"" + std::string(value) + "\" (other values are not implemented)", shown(*found));
}

void ConfigReader::only_number(std::string_view key, double value) {
  const json* found = find(key);
  if (found == nullptr || (found->is_number() && found->get<double>() == value)) return;
  fail(key, number_text(value) + " (other values are not implemented)", shown(*found));
}

void ConfigReader::only_null(std::string_view key) {
  if (const json* found = find(key)) fail(key, "null (other values are not implemented)", shown(*found));
}

void ConfigReader::harmless(Keys keys) {
  for (std::string_view key : keys) read_.emplace(key);
}

std::vector<std::string> ConfigReader::unread() const {
  std::vector<std::string> keys;
  for (const auto& item : object_.items()) {
    const bool known = read_.contains(item.key()) || std::find(std::begin(kNeverComputed), std::end(kNeverComputed),
                                                               item.key()) != std::end(kNeverComputed);
    if (!known) keys.push_back(item.key());
  }
  keys.insert(keys.end(), unknown_.begin(), unknown_.end());
  return keys;
}

}  // namespace mha
