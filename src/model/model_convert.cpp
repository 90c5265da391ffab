#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "io/json_weights.hpp"
#include "mha/core/error.hpp"
#include "model/families/bind_weights.hpp"
#include "model/json_fields.hpp"
#include "model/json_sentence.hpp"
#include "model/model_tools.hpp"
#include "model/model_writer.hpp"
#include "model/opened_model.hpp"
#include "model/weight_sources.hpp"
#include "ops/vector.hpp"
#include "tokenizer/load/load.hpp"

namespace mha {

using nlohmann::json;

namespace {

/// Files that make a model beside its weights.
bool is_kept(const std::string& name) {
  const std::string base = name.substr(name.rfind('/') + 1);
  if (base.ends_with(".index.json") || base.starts_with("golden.")) return false;
  for (const char* ending : {".json", ".txt", ".model", ".md"}) {
    if (base.ends_with(ending)) return true;
  }
  return base.starts_with("LICENSE") || base == "NOTICE";
}

/// Names, as in the file, of the matrices that int8 is for.
std::set<std::string> quantized_names(const Weights& weights) {
  constexpr const char* kPlaces[] = {
      "embeddings.word",  "embeddings.projection", "attention.query",   "attention.key",    "attention.value",
      "attention.output", "feed_forward.in",       "feed_forward.gate", "feed_forward.out", "pooler"};
  std::set<std::string> names;
  for (const auto& [name, weight] : named_weights(weights)) {
    for (const char* place : kPlaces) {
      if (name.ends_with(std::string(place) + ".weight")) names.insert(weight->name);
    }
  }
  return names;
}

std::string tokenizer_json_of(const OpenedModel& model) {
  if (model.json != nullptr) return model.json->tokenizer_json();
  if (!model.encoder_files->has("tokenizer.json") && model.encoder_files->has("vocab.txt")) {
    return tokenizer::json_from_vocab_txt(*model.encoder_files);
  }
  if (!model.encoder_files->has("tokenizer.json")) {
    throw_model("convert: " + model.encoder_files->place("tokenizer.json") +
                ": expected the tokenizer as one JSON file, found none; save it with Python's transformers: "
                "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)");
  }
  return std::string(model.encoder_files->open("tokenizer.json").text());
}

/// The `tokenizer.json` of an mha-json model.
std::string folder_tokenizer_json(const std::string& text, const std::string& origin) {
  const json object = parse_json(text, origin);
  if (JsonFields(object, "tokenizer", origin).text("type").value_or("") != "words") return text;
  const std::vector<std::string> vocab = object.at("vocab").get<std::vector<std::string>>();
  return words_tokenizer_json(vocab, object.value("lowercase", false), object.value("unk", vocab.front()));
}

void convert_to_json(const OpenedModel& model, const WeightSource& source, const std::string& output,
                     std::vector<std::string>& notes) {
  const ModelKind kind = model.sentence.config.kind;
  if ((kind != ModelKind::plain && kind != ModelKind::embedder) || !model.sentence.config.token_dense.empty()) {
    throw_usage("--to json: expected an encoder or a model of sentence vectors, got " + model.files->origin() +
                ", which is a " + std::string(name_of(kind)) + " or has layers before pooling");
  }
  std::vector<std::string> unused;
  const Weights weights = bind_weights(model.family, source, unused);
  SentenceModules sentence = model.sentence;
  bind_dense_modules(model, source, sentence.config, unused);
  sentence.max_length = model.max_length;
  json config = config_to_json(model.family.config);
  add_json_sentence(config, sentence);

  auto arrays = named_weights(weights);
  for (std::size_t i = 0; i < sentence.config.dense.size(); ++i) {
    const DenseModule& dense = sentence.config.dense[i];
    const std::string prefix = "dense." + std::to_string(i) + ".";
    arrays.emplace_back(prefix + "weight", &dense.linear.weight);
    if (dense.linear.bias.present()) arrays.emplace_back(prefix + "bias", &dense.linear.bias);
    if (dense.projects_residual()) arrays.emplace_back(prefix + "residual.weight", &dense.residual_linear.weight);
  }
  write_json_model(config, tokenizer_json_of(model), arrays, output);
  if (!unused.empty()) {
    notes.push_back(std::to_string(unused.size()) + " tensors that the encoder does not use are left out (" +
                    unused.front() + (unused.size() > 1 ? ", …)" : ")"));
  }
}

void convert_to_folder(const OpenedModel& model, const WeightSource& source, const ConvertOptions& options) {
  std::vector<std::string> unused;
  const Weights weights = bind_weights(model.family, source, unused);
  SentenceConfig sentence = model.sentence.config;
  bind_dense_modules(model, source, sentence, unused);
  ArrayTypes types{dtype_named(options.dtype), quantized_names(weights)};
  if (model.json_dense) {
    for (const DenseModule& dense : sentence.dense) {
      types.quantized.insert(dense.linear.weight.name);
      if (dense.projects_residual()) types.quantized.insert(dense.residual_linear.weight.name);
    }
  }

  NewFolder folder(options.output);
  const std::string prefix = model.sentence.transformer_folder.empty() ? "" : model.sentence.transformer_folder + "/";
  if (model.json != nullptr) {
    json config = parse_json(model.json->config_json(), model.config_name);
    config["model_type"] = "mha-json";
    folder.write("config.json", config.dump(2) + "\n");
    folder.write("tokenizer.json", folder_tokenizer_json(model.json->tokenizer_json(), model.config_name));
  } else {
    for (const FileSet::Entry& entry : model.files->list()) {
      if (is_kept(entry.name)) folder.write(entry.name, model.files->open(entry.name).text());
    }
    for (const auto* modules : {&sentence.token_dense, &sentence.dense}) {
      for (const DenseModule& dense : *modules) {
        if (model.json_dense) break;
        ArrayTypes dense_types = types;
        dense_types.quantized = {"linear.weight", "residual.weight"};
        write_arrays(*safetensors_source(*subfolder_files(model.files, dense.folder)), dense_types,
                     folder.file(dense.folder + "/model.safetensors"));
      }
    }
  }
  write_arrays(source, types, folder.file(prefix + "model.safetensors"));
  folder.commit();
}

}  // namespace

std::vector<std::string> convert_model(const ModelLocation& location, const ConvertOptions& options) {
  const std::optional<DType> dtype = dtype_named(options.dtype);
  if (options.output.empty()) throw_usage("--output: expected a path for the converted model, got none");
  if (options.to == ModelFormat::json && dtype.value_or(DType::f32) != DType::f32) {
    throw_usage("--dtype: expected f32 with --to json, the only type of that format, got " + options.dtype);
  }
  const auto model = open_model(location, {});
  const auto source = open_weights(*model);
  std::vector<std::string> notes;
  if (options.to == ModelFormat::json) {
    convert_to_json(*model, *source, options.output, notes);
  } else {
    convert_to_folder(*model, *source, options);
  }
  return notes;
}

EmbeddingDrift embedding_drift(const Model& a, const Model& b, std::span<const std::string> texts) {
  EmbeddingDrift drift;
  TokenizerScratch scratch;
  Workspace workspace;
  std::vector<float> pooler;
  const auto embed = [&](const Model& model, const std::string& text, std::vector<float>& out) {
    Encoding encoding;
    EncodeOptions encode;
    encode.max_length = model.max_length();
    model.tokenizer().encode(text, std::nullopt, encode, scratch, encoding);
    const std::size_t rows[] = {0, encoding.size()};
    const Batch batch{encoding.input_ids, encoding.token_type_ids, rows};
    const ConstMatrix hidden = model.encoder().forward(batch, workspace, {}, nullptr);
    const SentenceConfig& sentence = model.sentence();
    const bool wants_pooler =
        std::find(sentence.pooling.begin(), sentence.pooling.end(), PoolingMode::pooler) != sentence.pooling.end();
    pooler.resize(model.config().d_model);
    if (wants_pooler) model.encoder().pooler_output(batch, hidden, {pooler.data(), 1, pooler.size()}, workspace);
    pool(sentence, hidden, 0, pooler.data(), 0, sentence.normalize, model.encoder().backend(), workspace, out);
  };
  std::vector<float> from_a;
  std::vector<float> from_b;
  double cosines = 0;
  for (const std::string& text : texts) {
    embed(a, text, from_a);
    embed(b, text, from_b);
    if (from_a.size() != from_b.size()) {
      throw_usage("compare: expected sentence vectors of one width, got " + std::to_string(from_a.size()) + " and " +
                  std::to_string(from_b.size()));
    }
    for (std::size_t i = 0; i < from_a.size(); ++i) {
      drift.max_abs = std::max(drift.max_abs, std::abs(double{from_a[i]} - double{from_b[i]}));
    }
    const double alike = from_a == from_b ? 1.0 : cosine(from_a, from_b);
    cosines += alike;
    drift.least_cosine = std::min(drift.least_cosine, alike);
    ++drift.texts;
  }
  if (drift.texts > 0) drift.mean_cosine = cosines / static_cast<double>(drift.texts);
  return drift;
}

}  // namespace mha
