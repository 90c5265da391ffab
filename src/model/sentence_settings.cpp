#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "model/sentence_files.hpp"

namespace mha {
namespace {

using nlohmann::json;

constexpr char kFile[] = "config_sentence_transformers.json";

void read_kind(const JsonFields& fields, SentenceModules& out) {
  const auto type = fields.text("model_type");
  if (!type) return;
  struct Named {
    std::string_view name;
    ModelKind kind;
  };
  constexpr std::array<Named, 5> kKinds{{{"SentenceTransformer", ModelKind::embedder},
                                         {"CrossEncoder", ModelKind::cross_encoder},
                                         {"SparseEncoder", ModelKind::sparse_encoder},
                                         {"MultiVectorEncoder", ModelKind::late_interaction},
                                         {"ColBERT", ModelKind::late_interaction}}};
  const auto found = std::find_if(kKinds.begin(), kKinds.end(), [&](const Named& k) { return k.name == *type; });
  if (found == kKinds.end()) {
    fields.fail("model_type", "SentenceTransformer, CrossEncoder, SparseEncoder, MultiVectorEncoder or ColBERT");
  }
  out.config.kind = found->kind;
  out.pylate = found->name == "ColBERT";
  out.decisions.push_back({"kind", std::string(name_of(found->kind)), std::string(kFile) + ":model_type"});
}

void read_prompts(const JsonFields& fields, SentenceModules& out) {
  SentenceConfig& config = out.config;
  if (fields.has("prompts")) {
    const JsonFields prompts(fields.at("prompts"), "sentence config", fields.origin() + ": prompts");
    for (const std::string& key : prompts.keys()) {
      if (!prompts.has(key)) continue;  // null: no prompt of that name
      const auto text = prompts.text(key);
      config.prompts[key] = *text;
      out.decisions.push_back({"prompt " + key, json(*text).dump(), std::string(kFile) + ":prompts"});
    }
  }
  if (const auto name = fields.text("default_prompt_name")) {
    if (config.prompts.count(*name) == 0) fields.fail("default_prompt_name", "the name of one of the prompts");
    config.default_prompt_name = *name;
    out.decisions.push_back({"default prompt", *name, std::string(kFile) + ":default_prompt_name"});
  }
}

void read_similarity(const JsonFields& fields, SentenceModules& out) {
  const auto similarity = fields.text("similarity_fn_name");
  if (!similarity) {
    if (out.config.kind == ModelKind::sparse_encoder) out.config.similarity = "dot";  // SparseEncoder's default
    return;
  }
  constexpr std::array<std::string_view, 4> kKnown{"cosine", "dot", "euclidean", "manhattan"};
  const bool late = out.config.kind == ModelKind::late_interaction;
  if (late && (*similarity == "maxsim" || *similarity == "meanmaxsim" || *similarity == "MaxSim")) {
    out.decisions.push_back({"similarity", *similarity, std::string(kFile) + ":similarity_fn_name"});
    return;  // of token vectors, which are put out, not compared
  }
  if (std::find(kKnown.begin(), kKnown.end(), *similarity) == kKnown.end())
    fields.fail("similarity_fn_name", "cosine, dot, euclidean or manhattan");
  out.config.similarity = *similarity;
  out.decisions.push_back({"similarity", *similarity, std::string(kFile) + ":similarity_fn_name"});
}

void read_score_activation(const JsonFields& fields, SentenceModules& out) {
  const auto activation = fields.text("activation_fn");
  if (!activation || out.config.kind != ModelKind::cross_encoder) return;
  if (activation->ends_with(".Sigmoid"))
    out.config.raw_scores = false;
  else if (activation->ends_with(".Identity"))
    out.config.raw_scores = true;
  else
    fields.fail("activation_fn", "Sigmoid or Identity of torch.nn (others are not implemented)");
  out.decisions.push_back(
      {"score", *out.config.raw_scores ? "the logit" : "its sigmoid", std::string(kFile) + ":activation_fn"});
}

// Keys that PyLate writes for late-interaction models; `role` is the prompt that a prefix belongs to.
void read_late_interaction(const JsonFields& fields, SentenceModules& out) {
  for (const auto& [key, role] :
       {std::pair<const char*, const char*>{"query_prefix", "query"}, {"document_prefix", "document"}}) {
    const auto prefix = fields.text(key);
    if (!prefix) continue;
    std::string& prompt = out.config.prompts[role];
    if (!prompt.starts_with(*prefix)) prompt = *prefix + prompt;
    out.decisions.push_back({std::string("prompt ") + role, json(prompt).dump(), std::string(kFile) + ":" + key});
  }
  if (out.pylate) {
    for (const char c : std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
      out.config.skipped_tokens.emplace_back(1, c);
  }
  if (fields.has("skiplist_words")) {
    out.config.skipped_tokens.clear();
    for (const json& word : fields.at("skiplist_words")) {
      if (!word.is_string()) fields.fail("skiplist_words", "an array of words");
      out.config.skipped_tokens.push_back(word.get<std::string>());
    }
  }
  out.config.expands_queries = out.pylate && fields.flag("do_query_expansion").value_or(true);
  if (fields.has("query_expansion")) out.config.expands_queries = true;
  // Limits of queries and documents: texts are encoded without a role. The last two say what expansion does.
  fields.harmless({"query_length", "document_length", "attend_to_expansion_tokens", "attend_to_mask_tokens"});
}

}  // namespace

void read_sentence_settings(const FileSet& files, SentenceModules& out) {
  if (!files.has(kFile)) return;
  read_json_file(files, kFile, "sentence config", out, [&](const JsonFields& fields) {
    // Who wrote the file, and which weights a half-precision run would keep in float32.
    fields.harmless({"__version__", "keep_in_fp32_modules"});
    read_kind(fields, out);
    read_prompts(fields, out);
    read_similarity(fields, out);
    read_score_activation(fields, out);
    if (out.config.kind == ModelKind::late_interaction) read_late_interaction(fields, out);
    if (const auto dims = fields.size("truncate_dim")) {
      if (*dims == 0) fields.fail("truncate_dim", "at least 1");
      out.config.truncate_dim = *dims;
      out.decisions.push_back({"dims", "the first " + std::to_string(*dims), std::string(kFile) + ":truncate_dim"});
    }
  });
}

}  // namespace mha
