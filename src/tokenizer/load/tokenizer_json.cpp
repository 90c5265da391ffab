#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"
#include "tokenizer/stages.hpp"

namespace mha {
namespace tokenizer {
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

Stages stages_from_json(const JsonValue& root) {
  root.expect_object();
  Stages parts;
  const JsonValue model = root.at("model");
  parts.model = TokenModel::from_json(model);
  if (const auto value = root.find("normalizer")) parts.normalizer = Normalizer::from_json(*value);
  if (const auto value = root.find("pre_tokenizer")) parts.pre_tokenizer = PreTokenizer::from_json(*value);
  if (const auto value = root.find("decoder")) parts.decoder = Decoder::from_json(*value);
  if (const auto value = root.find("added_tokens")) {
    for (const JsonValue element : value->elements()) parts.added_tokens.push_back(added_token_from_json(element));
  }
  if (const auto value = root.find("post_processor")) {
    const AddedTokens added(parts.added_tokens, parts.model->vocab(), nullptr);
    parts.post_processor = PostProcessor(
        *value, [&](std::int32_t id) { return parts.model->vocab().has(id) || added.token(id) != nullptr; });
  }
  parts.roles = parts.post_processor.roles();
  if (const auto padding = root.find("padding")) {
    if (const auto token = padding->find("pad_token")) parts.roles["pad_token"] = token->as_string();
  }
  if (const std::int32_t unk = parts.model->unk_id(); unk >= 0) {
    parts.roles["unk_token"] = std::string(parts.model->vocab().token(unk));
  }
  // The file does not say what its specials are for; these names mean one thing wherever they occur.
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"[MASK]", "mask_token"}, {"<mask>", "mask_token"}, {"[PAD]", "pad_token"},
      {"<pad>", "pad_token"},   {"[CLS]", "cls_token"},   {"[SEP]", "sep_token"},
  };
  for (const AddedToken& token : parts.added_tokens) {
    for (const auto& [content, role] : kNames) {
      if (token.special && token.content == content) parts.roles.emplace(role, content);
    }
  }
  return parts;
}

}  // namespace tokenizer

std::shared_ptr<const Tokenizer> Tokenizer::from_json(std::string_view json, const std::string& origin) {
  const auto document = tokenizer::JsonDocument::parse(json, origin);
  return tokenizer::make_tokenizer(tokenizer::stages_from_json(document.root()));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_words(std::vector<std::string> words, bool lowercase,
                                                       const std::string& unk, const std::string& origin) {
  tokenizer::Vocab vocab;
  for (const std::string& word : words) {
    if (!vocab.add(word, static_cast<std::int32_t>(vocab.size()))) {
      throw_model("tokenizer: " + origin + ": expected each word once, got \"" + word + "\" twice");
    }
  }
  const std::string unknown = unk.empty() && !words.empty() ? words.front() : unk;
  if (vocab.find(unknown) < 0) {
    throw_model("tokenizer: " + origin + ": expected the unknown word \"" + unknown + "\" among the words, got none");
  }
  tokenizer::Stages parts;
  parts.model = tokenizer::make_word_level(std::move(vocab), unknown);
  parts.pre_tokenizer = tokenizer::make_whitespace();
  parts.roles["unk_token"] = unknown;
  auto made = tokenizer::make_tokenizer(std::move(parts));
  return lowercase ? made->with_lowercase() : made;
}

}  // namespace mha
