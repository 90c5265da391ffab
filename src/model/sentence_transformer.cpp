#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "mha/core/error.hpp"
#include "model/sentence_files.hpp"

namespace mha {
namespace {

using nlohmann::json;

struct TaskWords {
  TransformerTask task;
  std::string_view name;
  std::string_view method_output;
  std::string_view module_output;
};
constexpr std::array<TaskWords, 3> kTasks{
    {{TransformerTask::token_vectors, "feature-extraction", "last_hidden_state", "token_embeddings"},
     {TransformerTask::pair_scores, "sequence-classification", "logits", "scores"},
     {TransformerTask::vocabulary_logits, "fill-mask", "logits", "token_embeddings"}}};

/// An object inside a file.
class Inner {
 public:
  Inner(const JsonFields& outer, const char* key, const std::string& file, const std::string& path,
        SentenceModules& out)
      : fields_(outer.at(key), "sentence config", outer.origin() + ": " + path + key),
        file_(file),
        path_(path + key + "."),
        out_(out) {}
  const JsonFields& operator*() const { return fields_; }
  const JsonFields* operator->() const { return &fields_; }
  const std::string& path() const { return path_; }
  void done() const { note_unknown(fields_, file_, path_, out_); }

 private:
  JsonFields fields_;
  std::string file_;
  std::string path_;
  SentenceModules& out_;
};

void set_max_length(const JsonFields& fields, const char* key, const std::string& from, SentenceModules& out) {
  const auto length = fields.size(key);
  if (!length) return;
  if (*length == 0) fields.fail(key, "at least 1");
  out.max_length = *length;
  out.max_length_from = from + key;
}

void read_modalities(const JsonFields& fields, const std::string& name, const TaskWords& words, SentenceModules& out) {
  fields.only_text("module_output_name", words.module_output);
  if (!fields.has("modality_config")) return;
  const Inner modalities(fields, "modality_config", name, "", out);
  if (!modalities->has("text")) modalities->fail("text", "a text modality");
  if (modalities->has("message")) modalities->fail("message", "no chat template (not implemented)");
  const Inner text(*modalities, "text", name, modalities.path(), out);
  text->only_text("method", "forward");
  const json& output = text->at("method_output_name");
  const bool fits =
      output == words.method_output || (output.is_array() && output == json::array({words.method_output}));
  if (!fits) text->fail("method_output_name", "\"" + std::string(words.method_output) + "\", the only one implemented");
  text.done();
  modalities->harmless({"image", "audio", "video"});  // inputs are texts
  modalities.done();
}

/// `processing_kwargs`: how the reference calls its tokenizer.
void read_processing(const JsonFields& fields, const std::string& name, SentenceModules& out) {
  if (!fields.has("processing_kwargs")) return;
  const Inner processing(fields, "processing_kwargs", name, "", out);
  for (const char* key : {"text", "common", "chat_template"}) {
    if (!processing->has(key)) continue;
    const Inner call(*processing, key, name, processing.path(), out);
    if (std::string_view(key) == "text") {
      set_max_length(*call, "max_length", name + ":" + call.path(), out);
      // Padding is masked, and nothing here pads; the others add to what the tokenizer returns.
      call->harmless({"padding", "pad_to_multiple_of", "return_tensors", "return_attention_mask",
                      "return_token_type_ids", "verbose"});
      if (call->has("truncation")) {
        const json& truncation = call->at("truncation");
        if (truncation != true && truncation != "longest_first")
          call->fail("truncation", "true or \"longest_first\" (others are not implemented)");
      }
      call->only_flag("add_special_tokens", true);
    } else {
      call->harmless({"return_tensors"});
    }
    // What is left would reach the reference's tokenizer, so it may change numbers.
    for (const std::string& left : call->unread()) call->fail(left, "no such setting (it is not implemented)");
    call.done();
  }
  processing->harmless({"image", "audio", "video"});  // inputs are texts
  processing.done();
}

/// Arguments that the reference hands to its loaders: each may change numbers unless it is known not to.
void read_loader_arguments(const JsonFields& fields, const std::string& name, SentenceModules& out) {
  struct Group {
    const char* key;
    std::initializer_list<std::string_view> harmless;
  };
  // Where files come from, how they are read, and the kernels and number types of the reference.
  const std::array<Group, 6> groups{{
      {"model_args",
       {"trust_remote_code", "attn_implementation", "torch_dtype", "dtype", "add_pooling_layer", "use_safetensors",
        "low_cpu_mem_usage", "device_map", "revision", "token", "cache_dir", "local_files_only", "subfolder"}},
      {"model_kwargs",
       {"trust_remote_code", "attn_implementation", "torch_dtype", "dtype", "add_pooling_layer", "use_safetensors",
        "low_cpu_mem_usage", "device_map", "revision", "token", "cache_dir", "local_files_only", "subfolder"}},
      {"tokenizer_args",
       {"trust_remote_code", "use_fast", "padding_side", "clean_up_tokenization_spaces", "revision", "token",
        "cache_dir", "local_files_only", "subfolder"}},
      {"processor_kwargs",
       {"trust_remote_code", "use_fast", "padding_side", "clean_up_tokenization_spaces", "revision", "token",
        "cache_dir", "local_files_only", "subfolder"}},
      {"config_args", {"trust_remote_code", "revision", "token", "cache_dir", "local_files_only", "subfolder"}},
      {"config_kwargs", {"trust_remote_code", "revision", "token", "cache_dir", "local_files_only", "subfolder"}},
  }};
  for (const Group& group : groups) {
    if (!fields.has(group.key)) continue;
    const Inner arguments(fields, group.key, name, "", out);
    arguments->harmless(group.harmless);
    if (std::string_view(group.key) == "tokenizer_args" || std::string_view(group.key) == "processor_kwargs")
      set_max_length(*arguments, "model_max_length", name + ":" + arguments.path(), out);
    for (const std::string& left : arguments->unread()) {
      if (arguments->has(left)) arguments->fail(left, "no such setting (it is not implemented)");
    }
  }
}

}  // namespace

TransformerTask read_transformer_settings(const FileSet& files, TransformerTask by_default, SentenceModules& out) {
  // The older names, in the order in which the reference looks (Transformer.load_config).
  constexpr std::array<const char*, 7> kNames{"sentence_bert_config.json",       "sentence_roberta_config.json",
                                              "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                              "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                              "sentence_xlnet_config.json"};
  const std::string prefix = out.transformer_folder.empty() ? "" : out.transformer_folder + "/";
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const char* n) { return files.has(prefix + n); });
  if (found == kNames.end()) return by_default;
  const std::string name = prefix + *found;
  TransformerTask task = by_default;
  read_json_file(files, name, "sentence config", out, [&](const JsonFields& fields) {
    if (const auto wanted = fields.text("transformer_task")) {
      const auto words = std::find_if(kTasks.begin(), kTasks.end(), [&](const auto& t) { return t.name == *wanted; });
      if (words == kTasks.end())
        fields.fail("transformer_task", "feature-extraction, sequence-classification or fill-mask");
      task = words->task;
    }
    read_modalities(fields, name, kTasks[static_cast<std::size_t>(task)], out);
    set_max_length(fields, "max_seq_length", name + ":", out);
    read_loader_arguments(fields, name, out);
    read_processing(fields, name, out);
    if (const auto lowercase = fields.flag("do_lower_case")) {
      out.lowercase = *lowercase;
      out.lowercase_from = name + ":do_lower_case";
    }
    // Padding is left out here always.
    fields.harmless({"unpad_inputs"});
    if (const auto other = fields.text("tokenizer_name_or_path"); other && !other->empty())
      fields.fail("tokenizer_name_or_path", "the tokenizer of this folder");
    if (out.config.kind == ModelKind::late_interaction) {
      if (fields.has("query_expansion")) out.config.expands_queries = true;
      fields.harmless({"query_length", "document_length"});  // texts are encoded without a role
    }
  });
  return task;
}

}  // namespace mha
