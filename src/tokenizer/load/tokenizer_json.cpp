#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/config_keys.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizers.hpp"

namespace mha {
namespace tokenizer {

Stages stages_from_json(const JsonValue& root) {
  Stages stages;
  check_keys(root, KeyFile::tokenizer_json, stages.notes);
  if (const auto truncation = root.find("truncation")) {
    if (const auto direction = truncation->find("direction")) stages.kept_side = kept_side_of(*direction);
  }
  const JsonValue model = root.at("model");
  stages.model = TokenModel::from_json(model);
  if (const auto value = root.find("normalizer")) stages.normalizer = Normalizer::from_json(*value);
  if (const auto value = root.find("pre_tokenizer")) stages.pre_tokenizer = PreTokenizer::from_json(*value);
  if (const auto value = root.find("decoder")) stages.decoder = Decoder::from_json(*value);
  if (const auto value = root.find("added_tokens")) {
    for (const JsonValue element : value->elements()) stages.added_tokens.push_back(added_token_from_json(element));
  }
  if (const auto value = root.find("post_processor")) {
    const AddedTokens added(stages.added_tokens, stages.model->vocab(), nullptr);
    stages.post_processor = PostProcessor::from_json(
        *value, [&](std::int32_t id) { return stages.model->vocab().has(id) || added.token(id) != nullptr; });
  }
  stages.roles = stages.post_processor.roles();
  if (const auto padding = root.find("padding")) {
    if (const auto token = padding->find("pad_token")) stages.roles["pad_token"] = token->as_string();
  }
  if (const std::int32_t unk = stages.model->unk_id(); unk >= 0) {
    stages.roles["unk_token"] = std::string(stages.model->vocab().token(unk));
  }
  // The file does not say what its specials are for; these names mean one thing wherever they occur.
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"[MASK]", "mask_token"}, {"<mask>", "mask_token"}, {"[PAD]", "pad_token"},
      {"<pad>", "pad_token"},   {"[CLS]", "cls_token"},   {"[SEP]", "sep_token"},
  };
  for (const AddedToken& token : stages.added_tokens) {
    for (const auto& [content, role] : kNames) {
      if (token.special && token.content == content) stages.roles.emplace(role, content);
    }
  }
  return stages;
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
  tokenizer::Stages stages;
  stages.model = tokenizer::make_word_level(std::move(vocab), unknown);
  stages.pre_tokenizer = tokenizer::make_whitespace();
  stages.roles["unk_token"] = unknown;
  auto made = tokenizer::make_tokenizer(std::move(stages));
  return lowercase ? made->with_lowercase() : made;
}

}  // namespace mha
