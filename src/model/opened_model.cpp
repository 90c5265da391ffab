#include "model/opened_model.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "io/json_weights.hpp"
#include "mha/core/error.hpp"
#include "mha/model/model.hpp"
#include "model/builtin_models.hpp"
#include "model/json_fields.hpp"
#include "model/json_sentence.hpp"
#include "model/lora.hpp"
#include "model/plain_tokenizer.hpp"
#include "model/static_embedding.hpp"
#include "model/weight_sources.hpp"

namespace mha {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr char kConfig[] = "config.json";
constexpr char kJsonModel[] = "model.json";
constexpr char kJsonType[] = "mha-json";  // model_type of a folder with those switches and names
constexpr char kTokenizerConfig[] = "tokenizer_config.json";

/// Name of the mha-json file of a location, or nothing for one in the Hugging Face layout.
std::optional<std::string> json_file_of(const ModelLocation& location, const FileSet& files) {
  if (location.kind == ModelLocation::Kind::json_file) return fs::path(location.path).filename().string();
  if (!files.has(kConfig) && files.has(kJsonModel)) return kJsonModel;
  return std::nullopt;
}

/// Adds decisions; where one names the file `origin` by its path, it is called by its name in the model.
void add_decisions(std::vector<Decision>& to, std::vector<Decision> from, const std::string& origin,
                   const std::string& name) {
  for (Decision& decision : from) {
    if (decision.from.starts_with(origin + ": ")) {
      decision.from = name + ":" + decision.from.substr(origin.size() + 2);
    } else if (const std::size_t at = decision.from.find(origin); at != std::string::npos) {
      decision.from.replace(at, origin.size(), name);
    }
    to.push_back(std::move(decision));
  }
}

/// In this order (docs/models.md): --max-length, sentence_bert_config.json, tokenizer_config.json, position table;
/// never above what the position table serves.
void decide_max_length(OpenedModel& model, const LoadOptions& options) {
  const std::size_t positions = model.family.config.max_positions;
  std::optional<std::size_t> length;
  std::string from;
  if (options.max_length) {
    if (*options.max_length == 0) throw_usage("--max-length: expected at least 1, got 0");
    length = options.max_length;
    from = "--max-length";
  } else if (model.sentence.max_length) {
    length = model.sentence.max_length;
    from = model.sentence.max_length_from;
  } else if (const auto tokens = model.sentence.config.kind == ModelKind::static_embedding
                                     ? std::nullopt
                                     : tokenizer_max_length(*model.encoder_files)) {
    from = std::string(kTokenizerConfig) + ":" + tokens->key;
    length = tokens->length;
  }
  if (positions != 0 && (!length || *length > positions)) {
    if (options.max_length) {
      model.notes.push_back("--max-length " + std::to_string(*options.max_length) +
                            ": the position table serves at most " + std::to_string(positions) + " tokens; " +
                            std::to_string(positions) + " is used");
    }
    from = model.config_name + ": the position table serves " + std::to_string(positions) +
           (length ? ", less than " + from + " says" : "");
    length = positions;
  }
  model.max_length = length;
  model.max_length_from = from;
  model.decisions.push_back({"max_length", length ? std::to_string(*length) : "none",
                             length ? from : "assumed: no file names one and no position table limits it"});
}

void decide_lowercase(OpenedModel& model) {
  const SentenceModules& sentence = model.sentence;
  if (sentence.lowercase) {
    model.decisions.push_back({"lowercase", "texts are lower-cased first", sentence.lowercase_from});
  } else if (!sentence.lowercase_from.empty()) {
    model.decisions.push_back(
        {"lowercase", "as the tokenizer has it", sentence.lowercase_from + " false switches nothing off"});
  }
}

void open_folder(OpenedModel& model) {
  model.config_name = kConfig;
  model.sentence = read_sentence_modules(*model.files);
  model.encoder_files = model.files;
  if (!model.sentence.transformer_folder.empty()) {
    model.encoder_files = subfolder_files(model.files, model.sentence.transformer_folder);
    model.config_name = model.sentence.transformer_folder + "/" + kConfig;
  }
}

/// How long a text of a static embedding may be: what the tokenizer's own file says (StaticEmbedding uses it as it is).
void read_static_length(OpenedModel& model) {
  constexpr char kTokenizer[] = "tokenizer.json";
  if (!model.encoder_files->has(kTokenizer)) return;
  const FileBytes file = model.encoder_files->open(kTokenizer);
  const json tokenizer = parse_json(file.text(), file.origin);
  const JsonFields fields(tokenizer, "tokenizer", file.origin);
  if (!fields.has("truncation")) return;
  const JsonFields truncation(fields.at("truncation"), "tokenizer", file.origin + ": truncation");
  truncation.only_text("direction", "Right");
  model.sentence.max_length = truncation.size("max_length");
  model.sentence.max_length_from = std::string(kTokenizer) + ":truncation.max_length";
}

/// A static embedding has no configuration of an encoder: the table's shape says all.
void open_static_embedding(OpenedModel& model) {
  model.source = static_embedding_source(safetensors_source(*model.encoder_files, model.location.weights));
  model.family = static_embedding_family(*model.source);
  model.sentence.config.kind = ModelKind::static_embedding;
  model.sentence.special_tokens = false;
  if (!model.sentence.model2vec) read_static_length(model);
}

void open_model2vec(OpenedModel& model, const json& config, const std::string& origin) {
  SentenceModules& sentence = model.sentence;
  sentence.model2vec = true;
  Model2VecSettings settings = read_model2vec(config, origin);
  sentence.config.normalize = settings.normalize;
  sentence.max_length = settings.max_length;
  sentence.max_length_from = "config.json:max_length, 512 if it is not there";
  sentence.unknown_keys = std::move(settings.unknown_keys);
  sentence.decisions.clear();  // of the files of sentence-transformers, which are not there
  sentence.decisions.push_back({"pooling", "mean", "fixed by model2vec"});
  sentence.decisions.push_back({"normalize", sentence.config.normalize ? "l2" : "none", "config.json:normalize"});
  open_static_embedding(model);
}

/// Merges an adapter that lies beside the model's weights.
void merge_adapter(OpenedModel& model) {
  if (model.json != nullptr || !has_adapter(*model.encoder_files)) return;
  model.source = merged_adapter(*model.encoder_files, safetensors_source(*model.encoder_files, model.location.weights),
                                model.family.names.prefixes, model.decisions, model.sentence.unknown_keys);
}

void read_folder_config(OpenedModel& model) {
  if (model.sentence.config.kind == ModelKind::static_embedding) return open_static_embedding(model);
  if (!model.encoder_files->has(kConfig)) {
    if (has_adapter(*model.encoder_files)) {
      throw_model("model: " + model.encoder_files->place("adapter_config.json") +
                  ": expected the base model's files (config.json, weights, tokenizer) beside the adapter, found none");
    }
    throw_model("model: " + model.encoder_files->place(kConfig) +
                ": no such file; expected a model folder in the Hugging Face layout");
  }
  const FileBytes file = model.encoder_files->open(kConfig);
  json config = parse_json(file.text(), file.origin);
  if (config.is_object() && config.value("model_type", json()) == kJsonType && !model.files->has("modules.json")) {
    model.sentence = take_json_sentence(config, model.config_name, file.origin);
    model.json_dense = true;
  }
  if (is_model2vec(config) && !model.files->has("modules.json")) return open_model2vec(model, config, file.origin);
  model.family = read_family(config, file.origin);
}

void open_json(OpenedModel& model, const std::string& name) {
  model.config_name = name;
  model.encoder_files = model.files;
  const FileBytes file = model.files->open(name);
  model.json = std::make_shared<const JsonModel>(JsonModel::parse(file.text(), file.origin));
  json config = parse_json(model.json->config_json(), file.origin + ": config");
  model.sentence = take_json_sentence(config, name, file.origin + ": config");
  model.json_dense = true;
  model.family = read_family(config, file.origin, kJsonType);
}

}  // namespace

FileBytes RecordingFiles::open(std::string_view name) const {
  FileBytes file = files_->open(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto same = [&](const ModelFile& other) { return other.path == name; };
  if (std::none_of(opened_.begin(), opened_.end(), same)) opened_.push_back({std::string(name), file.bytes.size()});
  return file;
}

std::vector<ModelFile> RecordingFiles::opened() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ModelFile> files = opened_;
  std::sort(files.begin(), files.end(), [](const ModelFile& a, const ModelFile& b) { return a.path < b.path; });
  return files;
}

std::shared_ptr<const RecordingFiles> files_of(const ModelLocation& location) {
  switch (location.kind) {
    case ModelLocation::Kind::folder:
      return std::make_shared<const RecordingFiles>(folder_files(location.path));
    case ModelLocation::Kind::json_file: {
      const fs::path folder = fs::path(location.path).parent_path();
      return std::make_shared<const RecordingFiles>(folder_files(folder.empty() ? fs::path(".") : folder));
    }
    case ModelLocation::Kind::builtin:
      break;
  }
  auto files = builtin_model_files(location.path);
  if (files == nullptr) throw_internal("model: no built-in model is called " + location.path);
  return std::make_shared<const RecordingFiles>(std::move(files));
}

std::optional<TokenizerLength> tokenizer_max_length(const FileSet& files) {
  constexpr std::size_t kSentinel = 1000000;
  if (!files.has(kTokenizerConfig)) return std::nullopt;
  const FileBytes file = files.open(kTokenizerConfig);
  const json object = parse_json(file.text(), file.origin);
  const JsonFields fields(object, "tokenizer config", file.origin);
  // `max_len` is the key's older name, which the reference still reads (PreTrainedTokenizerBase).
  const char* key = fields.has("model_max_length") ? "model_max_length" : "max_len";
  const auto length = fields.size(key);
  if (!length || *length > kSentinel) return std::nullopt;
  if (*length == 0) fields.fail(key, "at least 1");
  return TokenizerLength{*length, key};
}

namespace {

/// The files of a model and what its modules say; of an mha-json file also its config.
std::shared_ptr<OpenedModel> open_files(const ModelLocation& location) {
  auto model = std::make_shared<OpenedModel>();
  model->location = location;
  model->files = files_of(location);
  if (const auto name = json_file_of(location, *model->files)) {
    open_json(*model, *name);
  } else {
    open_folder(*model);
  }
  return model;
}

}  // namespace

namespace {

/// Keys that nothing here reads: each may be new and change what the reference computes.
void warn_of_unknown_keys(OpenedModel& model) {
  std::vector<std::string> keys = model.sentence.unknown_keys;
  for (const std::string& key : model.family.ignored_keys) keys.push_back(model.config_name + ": " + key);
  for (const std::string& key : keys) model.notes.push_back(key + ": unknown key; nothing computes with it");
}

}  // namespace

std::shared_ptr<const OpenedModel> open_model(const ModelLocation& location, const LoadOptions& options) {
  const auto model = open_files(location);
  if (model->json == nullptr) read_folder_config(*model);
  merge_adapter(*model);
  check_sentence_widths(model->sentence, model->family.config.d_model, model->files->origin());
  add_decisions(model->decisions, model->family.decisions, model->files->place(model->config_name), model->config_name);
  model->decisions.insert(model->decisions.end(), model->sentence.decisions.begin(), model->sentence.decisions.end());
  decide_lowercase(*model);
  decide_max_length(*model, options);
  warn_of_unknown_keys(*model);
  return model;
}

namespace {

std::shared_ptr<const Tokenizer> json_tokenizer(const std::string& text, const std::string& origin) {
  const json object = parse_json(text, origin);
  const JsonFields fields(object, "tokenizer", origin);
  if (fields.text("type").value_or("") != "words") return Tokenizer::from_json(text, origin);
  const json& entries = fields.at("vocab");
  if (!entries.is_array() || entries.empty()) fields.fail("vocab", "an array of words");
  std::vector<std::string> vocab;
  for (const json& entry : entries) {
    if (!entry.is_string()) fields.fail_text("vocab", "expected words, got " + json_excerpt(entry));
    vocab.push_back(entry.get<std::string>());
  }
  const std::string unk = fields.text("unk").value_or(vocab.front());
  return Tokenizer::from_words(std::move(vocab), fields.flag("lowercase").value_or(false), unk, origin);
}

/// A text needs room for its special tokens. A limit of the model is no fault of the caller.
void require_room(const OpenedModel& model, const Tokenizer& tokenizer, const LoadOptions& options) {
  if (!options.special_tokens) return;
  const std::size_t specials = tokenizer.special_count(false);
  if (!options.max_length) {
    if (!model.max_length || *model.max_length >= specials) return;
    throw_model(model.files->origin() + ": " + model.max_length_from + ": expected room for the " +
                std::to_string(specials) + " special tokens of this model, got " + std::to_string(*model.max_length));
  }
  if (*options.max_length >= specials) return;
  throw_usage("--max-length: expected at least " + std::to_string(tokenizer.special_count(false)) +
              ", the special tokens of this model, got " + std::to_string(*options.max_length));
}

}  // namespace

std::shared_ptr<const Tokenizer> open_tokenizer(const OpenedModel& model, const LoadOptions& options) {
  std::shared_ptr<const Tokenizer> tokenizer;
  if (model.json == nullptr) {
    tokenizer = Tokenizer::from_files(*model.encoder_files);
  } else {
    const std::string origin = model.files->place(model.config_name) + ": tokenizer";
    if (model.json->tokenizer_json().empty()) throw_model("tokenizer: " + origin + ": expected an object, found none");
    tokenizer = json_tokenizer(model.json->tokenizer_json(), origin);
  }
  if (model.sentence.lowercase) tokenizer = tokenizer->with_lowercase();
  if (!model.sentence.special_tokens)
    tokenizer = without_special_tokens(std::move(tokenizer), model.sentence.model2vec);
  require_room(model, *tokenizer, options);
  return tokenizer;
}

std::shared_ptr<const WeightSource> open_weights(const OpenedModel& model) {
  if (model.source != nullptr) return model.source;
  if (model.json != nullptr) {
    return json_source(model.json, model.files->place(model.config_name));
  }
  return safetensors_source(*model.encoder_files, model.location.weights);
}

void bind_dense_modules(const OpenedModel& model, const WeightSource& source, SentenceConfig& config,
                        std::vector<std::string>& unused) {
  const auto bind = [&](DenseModule& dense) {
    if (!model.json_dense) {
      bind_dense(dense, *safetensors_source(*subfolder_files(model.files, dense.folder)), "linear.");
      return;
    }
    const std::string prefix = dense.folder + ".";
    bind_dense(dense, source, prefix);
    std::erase_if(unused, [&](const std::string& name) { return name.starts_with(prefix); });
  };
  for (DenseModule& dense : config.token_dense) bind(dense);
  for (DenseModule& dense : config.dense) bind(dense);
}

TokenizerOnly load_tokenizer(const ModelLocation& location, const LoadOptions& options) {
  const auto model = open_files(location);
  if (model->json == nullptr && model->encoder_files->has(kConfig)) {
    try {
      read_folder_config(*model);
    } catch (const Error& error) {
      // A tokenizer is of use without a model that runs here; only the position table's limit is then unknown.
      model->notes.push_back(std::string(error.what()) +
                             "; only the tokenizer is used, no position table limits its texts");
    }
  }
  decide_max_length(*model, options);
  TokenizerOnly out;
  out.tokenizer = open_tokenizer(*model, options);
  out.max_length = model->max_length;
  out.notes = model->notes;
  out.notes.insert(out.notes.end(), out.tokenizer->notes().begin(), out.tokenizer->notes().end());
  out.sentence = model->sentence.config;
  return out;
}

ModelHeader read_model_header(const ModelLocation& location, const LoadOptions& options) {
  ModelHeader header;
  header.opened = open_model(location, options);
  header.config = header.opened->family.config;
  header.sentence = header.opened->sentence.config;
  header.max_length = header.opened->max_length;
  return header;
}

}  // namespace mha
