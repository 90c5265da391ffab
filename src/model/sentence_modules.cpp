#include "model/sentence_modules.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "mha/core/error.hpp"
#include "model/sentence_files.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr char kFile[] = "modules.json";

/// "SpladePooling" → "splade_pooling", the name of the reference's source file.
std::string snake_case(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool upper = c >= 'A' && c <= 'Z';
    const bool starts = upper && i > 0 && i + 1 < name.size() && (name[i - 1] >= 'a' || name[i + 1] >= 'a');
    if (starts) text += '_';
    text += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

/// The class name of a module, or "" for a class that sentence-transformers (or PyLate) does not have at that place.
/// Releases differ: `sentence_transformers.models.Pooling`,
/// `sentence_transformers.sparse_encoder.models.SpladePooling`,
/// `sentence_transformers.sentence_transformer.modules.pooling.Pooling`.
std::string module_class(const std::string& type) {
  const std::size_t dot = type.rfind('.');
  if (dot == std::string::npos) return "";
  const std::string module = type.substr(0, dot);
  const std::string name = type.substr(dot + 1);
  const std::string file = snake_case(name);
  std::vector<std::string> known{"sentence_transformers.models", "sentence_transformers.models." + name,
                                 "sentence_transformers.base.modules", "sentence_transformers.base.modules." + file};
  for (const char* part : {"sentence_transformer", "sparse_encoder", "cross_encoder", "multi_vector_encoder"}) {
    for (const char* folder : {"models", "modules"}) {
      const std::string package = std::string("sentence_transformers.") + part + "." + folder;
      known.push_back(package);
      known.push_back(package + "." + name);
      known.push_back(package + "." + file);
    }
  }
  known.push_back("pylate.models." + name);
  return std::find(known.begin(), known.end(), module) != known.end() ? name : "";
}

/// Reads modules.json from the first module to the last.
class ModuleWalk {
 public:
  ModuleWalk(const FileSet& files, SentenceModules& out) : files_(files), out_(out) {}

  void run() {
    const FileBytes file = files_.open(kFile);
    const json modules = parse_json(file.text(), file.origin);
    const std::string origin = files_.place(kFile);
    if (!modules.is_array()) throw_model("modules: " + origin + ": expected an array, got " + json_excerpt(modules));
    if (modules.empty()) throw_model("modules: " + origin + ": expected a Transformer module, found none");
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const JsonFields fields(modules[i], "modules", origin + ": module " + std::to_string(i));
      // Names and order are those of the list; kwargs are the names of arguments that a caller may give.
      fields.harmless({"idx", "name", "kwargs"});
      module(fields, i == 0);
      note_unknown(fields, kFile, "module " + std::to_string(i) + ": ", out_);
    }
    finish(origin);
  }

 private:
  void module(const JsonFields& fields, bool first) {
    const auto type = fields.text("type");
    if (!type) fields.fail("type", "the class of a module");
    const std::string folder = fields.text("path").value_or("");
    if (!folder.empty() && !is_inside_name(folder))
      fields.fail("path", "a folder inside the model; a model must not reach outside its folder");
    const std::string name = module_class(*type);
    if (first) return first_module(fields, name, folder);
    if (name == "Transformer") fields.fail("type", "Transformer as the first module only");
    if (name == "Pooling") return pooling(fields, folder);
    if (name == "SpladePooling") return splade_pooling(fields, folder);
    if (name == "Dense") return dense(fields, folder);
    if (name == "Normalize") return normalize(fields, folder);
    if (name == "MultiVectorMask" && out_.config.kind == ModelKind::late_interaction)
      return read_token_mask(files_, folder, out_);
    if (name == "Dropout") {
      out_.decisions.push_back({"dropout", "none: it does nothing outside training", std::string(kFile) + ":type"});
      return;
    }
    fields.fail_text("type",
                     "expected Transformer, StaticEmbedding, Pooling, SpladePooling, Dense, Normalize or "
                     "Dropout of sentence_transformers, got " +
                         json_excerpt(fields.at("type")) + "; this module is not implemented");
  }

  void first_module(const JsonFields& fields, const std::string& name, const std::string& folder) {
    out_.transformer_folder = folder;
    if (name == "StaticEmbedding") {
      static_ = pooled_ = true;
      out_.config.kind = ModelKind::static_embedding;
      out_.special_tokens = false;
      out_.decisions.push_back({"pooling", "mean", "fixed by StaticEmbedding"});
      return;
    }
    if (name != "Transformer" && name != "MLMTransformer")
      fields.fail("type", "Transformer or StaticEmbedding as the first module (others are not implemented)");
    task_ = read_transformer_settings(
        files_, name == "Transformer" ? TransformerTask::token_vectors : TransformerTask::vocabulary_logits, out_);
    if (task_ == TransformerTask::pair_scores) out_.config.kind = ModelKind::cross_encoder;
  }

  void pooling(const JsonFields& fields, const std::string& folder) {
    if (task_ != TransformerTask::token_vectors) fields.fail("type", "no Pooling of logits (it is not implemented)");
    if (pooled_) fields.fail("type", "one Pooling module only");
    if (normalized_) fields.fail("type", "Pooling before Normalize");
    pooled_ = true;
    read_pooling(files_, (folder.empty() ? "" : folder + "/") + "config.json", out_);
  }

  void splade_pooling(const JsonFields& fields, const std::string& folder) {
    if (task_ != TransformerTask::vocabulary_logits || out_.config.sparse)
      fields.fail("type", "SpladePooling after a fill-mask Transformer only");
    out_.config.kind = ModelKind::sparse_encoder;
    read_splade_pooling(files_, (folder.empty() ? "" : folder + "/") + "config.json", out_);
  }

  void dense(const JsonFields& fields, const std::string& folder) {
    if (folder.empty()) fields.fail("path", "the folder of the dense module");
    bool token_level = false;
    DenseModule dense = read_dense(files_, folder, token_level, out_);
    require_stage(fields, token_level);
    dense.normalize_input = std::exchange(token_level ? out_.config.normalize_tokens : normalized_, false);
    (token_level ? out_.config.token_dense : out_.config.dense).push_back(std::move(dense));
  }

  void normalize(const JsonFields& fields, const std::string& folder) {
    const bool token_level = reads_tokens(files_, folder, out_);
    require_stage(fields, token_level);
    (token_level ? out_.config.normalize_tokens : normalized_) = true;
  }

  /// Token vectors exist before pooling, the pooled one after it.
  void require_stage(const JsonFields& fields, bool token_level) const {
    if (task_ != TransformerTask::token_vectors || out_.config.sparse)
      fields.fail("type", "no module after logits (it is not implemented)");
    if (token_level && (pooled_ || static_)) fields.fail("type", "modules of token vectors before Pooling");
    if (!token_level && !pooled_) fields.fail("type", "Pooling before this module");
  }

  void finish(const std::string& origin) {
    SentenceConfig& config = out_.config;
    const bool late = config.kind == ModelKind::late_interaction;
    if (task_ == TransformerTask::vocabulary_logits && !config.sparse)
      throw_model("modules: " + origin + ": expected SpladePooling after a fill-mask Transformer, found none");
    if (late && pooled_)
      throw_model("modules: " + origin + ": expected no Pooling in a late-interaction model, found one");
    // The reference adds this step to a model of PyLate.
    if (out_.pylate) config.normalize_tokens = true;
    if (config.kind == ModelKind::plain && (pooled_ || config.normalize)) config.kind = ModelKind::embedder;
    if (!pooled_) out_.decisions.push_back({"pooling", "mean", std::string("assumed: no Pooling in ") + kFile});
    config.normalize = normalized_;
    const std::string from =
        normalized_ ? std::string(kFile) + ":type" : std::string("assumed: no Normalize in ") + kFile;
    out_.decisions.push_back({"normalize", normalized_ ? "l2" : "none", from});
  }

  const FileSet& files_;
  SentenceModules& out_;
  TransformerTask task_ = TransformerTask::token_vectors;
  bool static_ = false;
  bool pooled_ = false;
  bool normalized_ = false;
};

}  // namespace

void note_unknown(const JsonFields& fields, const std::string& file, const std::string& path, SentenceModules& out) {
  for (const std::string& key : fields.unread()) out.unknown_keys.push_back(file + ": " + path + key);
}

void read_json_file(const FileSet& files, const std::string& name, const char* what, SentenceModules& out,
                    const std::function<void(const JsonFields&)>& read) {
  const FileBytes file = files.open(name);
  const json object = parse_json(file.text(), file.origin);
  const JsonFields fields(object, what, files.place(name));
  read(fields);
  note_unknown(fields, name, "", out);
}

void read_token_mask(const FileSet& files, const std::string& folder, SentenceModules& out) {
  const std::string name = (folder.empty() ? "" : folder + "/") + "config.json";
  if (!files.has(name)) return;
  read_json_file(files, name, "token mask", out, [&](const JsonFields& fields) {
    std::vector<std::string>& skipped = out.config.skipped_tokens;
    skipped.clear();
    if (fields.has("keep_only_token_ids")) fields.fail("keep_only_token_ids", "null (it is not implemented)");
    if (fields.has("skiplist_tasks")) {
      const json& tasks = fields.at("skiplist_tasks");
      if (tasks != json::array({"document"}) && tasks != "document")
        fields.fail("skiplist_tasks", "[\"document\"] (others are not implemented)");
    }
    if (!fields.has("skiplist_words")) return;
    const json& words = fields.at("skiplist_words");
    if (!words.is_array()) fields.fail("skiplist_words", "an array of words");
    for (const json& word : words) {
      if (!word.is_string()) fields.fail("skiplist_words", "an array of words");
      skipped.push_back(word.get<std::string>());
    }
    out.decisions.push_back(
        {"skipped tokens", std::to_string(skipped.size()) + " words, outside queries", name + ":skiplist_words"});
  });
}

SentenceModules read_sentence_modules(const FileSet& files) {
  SentenceModules out;
  read_sentence_settings(files, out);
  if (files.has(kFile)) {
    ModuleWalk(files, out).run();
    return out;
  }
  if (files.has("1_Pooling/config.json")) {
    read_pooling(files, "1_Pooling/config.json", out);
    if (out.config.kind == ModelKind::plain) out.config.kind = ModelKind::embedder;
  } else {
    out.decisions.push_back({"pooling", "mean", std::string("assumed: no ") + kFile});
  }
  out.decisions.push_back({"normalize", "none", std::string("assumed: no ") + kFile});
  const TransformerTask task = read_transformer_settings(files, TransformerTask::token_vectors, out);
  if (task == TransformerTask::pair_scores) out.config.kind = ModelKind::cross_encoder;
  return out;
}

}  // namespace mha
