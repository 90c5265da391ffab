#include "tokenizer/load/settings.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/config_keys.hpp"

namespace mha::tokenizer {
namespace {

// `"[MASK]"` or `{"content": "[MASK]", "lstrip": …}`.
AddedToken token_of(const JsonValue& value, bool special) {
  if (value.is_string()) return special_token(value.as_string());
  AddedToken token = added_token_from_json(value);
  if (!value.find("special")) token.special = special;
  if (!value.find("normalized")) token.normalized = !token.special;
  return token;
}

// `replace`: a token of this file takes the place of one that another file gave the same role.
void read_tokens(const JsonValue& root, bool replace, TokenizerSettings& settings) {
  for (const char* role : kRoles) {
    const auto value = root.find(role);
    if (!value) continue;
    const AddedToken token = token_of(*value, true);
    const auto [known, is_new] = settings.roles.emplace(role, token);
    if (is_new || !replace) continue;
    if (known->second.content != token.content) {
      settings.notes.push_back(value->where() + ": \"" + token.content + "\" takes the place of \"" +
                               known->second.content + "\" of tokenizer_config.json, as in the reference");
    }
    known->second = token;
  }
  std::string buffer;
  for (const auto& [key, value] : root.members()) {
    const std::string_view name = key.as_view(buffer);
    const bool is_role = std::find(kRoles.begin(), kRoles.end(), name) != kRoles.end();
    if (is_role || !name.ends_with("_token") || !(value.is_string() || value.is_object())) continue;
    settings.own_roles.push_back(token_of(value, true));
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto value = root.find(key);
    if (!value || !settings.additional_specials.empty()) continue;
    if (value->is_object()) {  // extra_special_tokens of transformers 4: name → token
      for (const auto& [name, token] : value->members()) settings.additional_specials.push_back(token_of(token, true));
    } else {
      for (const JsonValue token : value->elements()) settings.additional_specials.push_back(token_of(token, true));
    }
  }
}

void sort_added(std::vector<std::pair<std::int64_t, AddedToken>>& added, TokenizerSettings& settings) {
  std::stable_sort(added.begin(), added.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [id, token] : added) settings.added.push_back(std::move(token));
}

std::optional<bool> flag(const JsonValue& root, std::string_view key) {
  const auto value = root.find(key);
  return value ? std::optional(value->as_bool()) : std::nullopt;
}

void read_config(const JsonValue& root, TokenizerSettings& settings) {
  check_keys(root, KeyFile::tokenizer_config, settings.notes);
  settings.tokenizer_class = root.string_or("tokenizer_class", "");
  if (settings.tokenizer_class.ends_with("Fast")) settings.tokenizer_class.resize(settings.tokenizer_class.size() - 4);
  settings.do_lower_case = flag(root, "do_lower_case");
  settings.strip_accents = flag(root, "strip_accents");
  settings.tokenize_chinese_chars = flag(root, "tokenize_chinese_chars");
  settings.add_prefix_space = flag(root, "add_prefix_space");
  settings.keep_accents = flag(root, "keep_accents");
  settings.split_by_punct = flag(root, "split_by_punct");
  settings.trim_offsets = flag(root, "trim_offsets");
  settings.split_special_tokens = root.bool_or("split_special_tokens", false);
  if (const auto value = root.find("truncation_side")) settings.kept_side = kept_side_of(*value);
  if (const auto names = root.find("model_input_names")) {
    settings.has_type_ids = false;
    for (const JsonValue name : names->elements()) settings.has_type_ids |= name.as_string() == "token_type_ids";
  }
  if (const auto value = root.find("extra_ids"))
    settings.extra_ids = static_cast<std::size_t>(value->as_integer(0, 1'000'000));
  read_tokens(root, false, settings);
  if (const auto decoder = root.find("added_tokens_decoder")) {
    settings.has_decoder = true;
    std::vector<std::pair<std::int64_t, AddedToken>> added;
    std::string buffer;
    for (const auto& [key, value] : decoder->members()) {
      const std::string_view text = key.as_view(buffer);
      std::int64_t id = -1;
      const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), id);
      if (status != std::errc() || end != text.data() + text.size() || id < 0 || id > Vocab::kMaxId) {
        key.error("expected a token id, got \"" + std::string(text) + "\"");
      }
      added.emplace_back(id, token_of(value, false));
    }
    sort_added(added, settings);
  }
}

template <typename Use>
void with_json(const FileSet& files, const std::string& name, const Use& use) {
  if (!files.has(name)) return;
  const FileBytes bytes = files.open(name);
  const auto document = JsonDocument::parse(bytes.text(), bytes.origin);
  use(document.root());
}

}  // namespace

TruncationSide kept_side_of(const JsonValue& value) {
  const std::string side = value.as_string();
  if (side == "right" || side == "Right") return TruncationSide::head;
  if (side == "left" || side == "Left") return TruncationSide::tail;
  value.fail("left or right");
}

AddedToken special_token(std::string content) {
  AddedToken token;
  token.content = std::move(content);
  token.special = true;
  return token;
}

AddedToken added_token_from_json(const JsonValue& value) {
  AddedToken token;
  token.content = value.at("content").as_string();
  token.special = value.bool_or("special", false);
  token.single_word = value.bool_or("single_word", false);
  token.lstrip = value.bool_or("lstrip", false);
  token.rstrip = value.bool_or("rstrip", false);
  token.normalized = value.bool_or("normalized", !token.special);
  return token;
}

void TokenizerSettings::assume(const std::string& role, const std::string& content) {
  roles.emplace(role, special_token(content));
}

std::string TokenizerSettings::role_or(const std::string& role, const std::string& fallback) const {
  const auto found = roles.find(role);
  return found == roles.end() ? fallback : found->second.content;
}

std::vector<AddedToken> TokenizerSettings::all_added() const {
  std::vector<AddedToken> all = added;
  std::unordered_set<std::string_view> known;
  for (const AddedToken& token : added) known.insert(token.content);
  const auto add = [&](const AddedToken& token) {
    if (known.insert(token.content).second) all.push_back(token);
  };
  for (const char* role : kRoles) {
    if (const auto found = roles.find(role); found != roles.end()) add(found->second);
  }
  for (const AddedToken& token : own_roles) add(token);
  for (const AddedToken& token : additional_specials) add(token);
  return all;
}

TokenizerSettings read_settings(const FileSet& files) {
  TokenizerSettings settings;
  with_json(files, "tokenizer_config.json", [&](const JsonValue& root) { read_config(root, settings); });
  with_json(files, "special_tokens_map.json", [&](const JsonValue& root) {
    check_keys(root, KeyFile::special_tokens_map, settings.notes);
    if (!settings.has_decoder) read_tokens(root, true, settings);
  });
  if (!settings.has_decoder) {
    with_json(files, "added_tokens.json", [&](const JsonValue& root) {
      std::vector<std::pair<std::int64_t, AddedToken>> added;
      for (const auto& [content, id] : root.members()) {
        AddedToken token;
        token.content = content.as_string();
        token.normalized = true;
        const auto names_it = [&](const auto& role) { return role.second.content == token.content; };
        if (std::any_of(settings.roles.begin(), settings.roles.end(), names_it)) token = special_token(token.content);
        added.emplace_back(id.as_integer(0, Vocab::kMaxId), std::move(token));
      }
      sort_added(added, settings);
    });
  }
  with_json(files, "config.json", [&](const JsonValue& root) {
    root.expect_object();
    settings.model_type = root.string_or("model_type", "");
    if (settings.tokenizer_class.empty()) {
      settings.tokenizer_class = root.string_or("tokenizer_class", "");
      if (settings.tokenizer_class.ends_with("Fast"))
        settings.tokenizer_class.resize(settings.tokenizer_class.size() - 4);
    }
  });
  return settings;
}

}  // namespace mha::tokenizer
