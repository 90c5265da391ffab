#include "tokenizer/load/config_keys.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "tokenizer/json.hpp"
#include "tokenizer/load/settings.hpp"

namespace mha::tokenizer {
namespace {

// Keys that settings.cpp, or the reader of the maximum length, reads.
constexpr std::string_view kReadByConfig[] = {
    "add_prefix_space",
    "added_tokens_decoder",
    "additional_special_tokens",
    "do_lower_case",
    "extra_ids",
    "extra_special_tokens",
    "keep_accents",
    "max_len",
    "model_input_names",
    "model_max_length",
    "split_by_punct",
    "split_special_tokens",
    "strip_accents",
    "tokenize_chinese_chars",
    "tokenizer_class",
    "trim_offsets",
    "truncation_side",
};

struct HarmlessKey {
  std::string_view name;
  std::string_view reason;
};

// Keys without influence on the tokens of a text, in transformers 5.24.0.
constexpr HarmlessKey kHarmless[] = {
    {"_commit_hash", "names the origin"},
    {"add_bos_token",
     "dropped if there is a tokenizer.json; the classes of the older file sets set their own template"},
    {"add_eos_token", "as add_bos_token"},
    {"additional_special_tokens_ids", "written, never read"},
    {"backend", "names the library that wrote the file"},
    {"chat_control_tokens", "chat only"},
    {"chat_template", "chat only"},
    {"clean_text", "true in every class that reads it"},
    {"clean_up_tokenization_spaces", "decoding only"},
    {"cls_token_box", "layout models only"},
    {"device_map", "placement of weights"},
    {"do_basic_tokenize", "ignored by the classes of transformers 5"},
    {"errors", "decoding only"},
    {"files_loaded", "written, never read"},
    {"from_slow", "how the file was made"},
    {"is_local", "names the origin"},
    {"legacy", "ignored by the encoder classes of transformers 5"},
    {"local_files_only", "names the origin"},
    {"max_length", "a default of the call; sentence-transformers passes its own"},
    {"name_or_path", "names the origin"},
    {"never_split", "ignored by the classes of transformers 5"},
    {"only_label_first_subword", "training only"},
    {"pad_to_multiple_of", "inputs are not padded"},
    {"pad_token_box", "layout models only"},
    {"pad_token_label", "training only"},
    {"pad_token_type_id", "inputs are not padded"},
    {"padding", "inputs are not padded"},
    {"padding_side", "inputs are not padded"},
    {"problem_type", "training only"},
    {"processor_class", "for images and sound"},
    {"remove_space", "ignored by the classes of transformers 5"},
    {"response_schema", "chat only"},
    {"response_template", "chat only"},
    {"return_offsets_mapping", "a default of the call"},
    {"return_token_type_ids", "a default of the call"},
    {"sep_token_box", "layout models only"},
    {"separate_vocabs", "translation targets only"},
    {"source_lang", "translation only"},
    {"sp_model_kwargs", "ignored by the classes of transformers 5 that use tokenizers"},
    {"special_tokens_map_file", "names the origin"},
    {"spaces_between_special_tokens", "decoding only"},
    {"src_lang", "translation only"},
    {"stride", "a default of the call"},
    {"target_lang", "translation only"},
    {"text_pair", "a default of the call"},
    {"tgt_lang", "translation only"},
    {"tokenizer_file", "names the origin"},
    {"tokenizer_type", "ignored by the classes of transformers 5"},
    {"torch_dtype", "precision of weights"},
    {"trust_remote_code", "no code of a model is run"},
    {"truncation", "a default of the call"},
    {"truncation_strategy", "a default of the call"},
    {"unk_id", "the vocabulary says which token is unknown"},
    {"use_fast", "there is one tokenizer"},
    {"verbose", "messages of the reference"},
    {"vocab_file", "names the origin"},
    {"vocab_size", "the vocabulary says it"},
    {"vocab_type", "the vocabulary says it"},
};

struct RefusedKey {
  std::string_view name;
  std::string_view reason;
};

// Keys that change the tokens and are not implemented.
constexpr RefusedKey kRefused[] = {
    {"fix_mistral_regex", "a patch of the reference that replaces the pre-tokenizer"},
    {"jieba_kwargs", "words cut by jieba"},
    {"jumanpp_kwargs", "words cut by Juman++"},
    {"mecab_kwargs", "words cut by MeCab"},
    {"subword_tokenizer_type", "a tokenizer of BertJapaneseTokenizer"},
    {"sudachi_kwargs", "words cut by Sudachi"},
    {"word_tokenizer_type", "a tokenizer of BertJapaneseTokenizer"},
};

constexpr std::string_view kTokenizerJson[] = {"added_tokens",   "decoder",       "model",      "normalizer", "padding",
                                               "post_processor", "pre_tokenizer", "truncation", "version"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_role(std::string_view name) { return std::find(kRoles.begin(), kRoles.end(), name) != kRoles.end(); }

bool is_known(std::string_view name, const JsonValue& value, KeyFile file) {
  if (file == KeyFile::tokenizer_json) return contains(kTokenizerJson, name);
  // A token with a role of its own (`image_token`) is one more special token.
  if (is_role(name) || (name.ends_with("_token") && (value.is_string() || value.is_object()))) return true;
  if (name == "additional_special_tokens" || name == "extra_special_tokens") return true;
  if (file == KeyFile::special_tokens_map) return false;
  const auto harmless = [&](const HarmlessKey& key) { return key.name == name; };
  return contains(kReadByConfig, name) || std::any_of(std::begin(kHarmless), std::end(kHarmless), harmless);
}

}  // namespace

void check_keys(const JsonValue& root, KeyFile file, std::vector<std::string>& notes) {
  root.expect_object();
  std::string buffer;
  for (const auto& [key, value] : root.members()) {
    const std::string_view name = key.as_view(buffer);
    if (value.is_null() || is_known(name, value, file)) continue;
    if (file == KeyFile::tokenizer_config) {
      const auto* refused =
          std::find_if(std::begin(kRefused), std::end(kRefused), [&](const RefusedKey& r) { return r.name == name; });
      if (refused != std::end(kRefused)) {
        if (value.is_bool() && !value.as_bool()) continue;
        value.error("this key changes the tokens (" + std::string(refused->reason) + ") and is not implemented");
      }
      // Code beside the files would be run by the reference only if its user trusts it.
      if (name == "auto_map") {
        if (value.is_object() && !value.find("AutoTokenizer")) continue;
        notes.push_back(value.where() + ": the tokenizer code that this key names is not run");
        continue;
      }
    }
    notes.push_back(value.where() + ": unknown key, ignored");
  }
}

}  // namespace mha::tokenizer
