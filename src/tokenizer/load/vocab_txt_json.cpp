// The tokenizer of a vocab.txt written as a tokenizer.json, for formats that hold no other.
#include <nlohmann/json.hpp>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/word_piece_files.hpp"

namespace mha::tokenizer {
namespace {

using Json = nlohmann::ordered_json;

Json added_tokens_json(const Stages& stages) {
  const AddedTokens added(stages.added_tokens, stages.model->vocab(), nullptr);
  Json list = Json::array();
  for (const AddedToken& token : stages.added_tokens) {
    list.push_back({{"id", *added.id_of(token.content)},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  }
  return list;
}

Json normalizer_json(const BertNormalizerOptions& options) {
  return {{"type", "BertNormalizer"},
          {"clean_text", options.clean_text},
          {"handle_chinese_chars", options.handle_chinese_chars},
          {"strip_accents", options.strip_accents.value_or(options.lowercase)},
          {"lowercase", options.lowercase}};
}

Json pieces_json(std::span<const RolePiece> pieces, const TokenizerSettings& settings) {
  Json list = Json::array();
  for (const RolePiece& piece : pieces) {
    const bool is_special = piece.what != kText && piece.what != kPair;
    const std::string id =
        is_special ? settings.role_or(std::string(piece.what), "") : std::string(piece.what == kText ? "A" : "B");
    list.push_back({{is_special ? "SpecialToken" : "Sequence", {{"id", id}, {"type_id", piece.type_id}}}});
  }
  return list;
}

Json template_json(const WordPieceFiles& files, const Stages& stages) {
  Json tokens = Json::object();
  for (const char* role : {"cls_token", "sep_token"}) {
    const std::string content = files.settings.role_or(role, "");
    tokens[content] = {{"id", content},
                       {"ids", Json::array({role_id(role, files.settings, stages, files.origin)})},
                       {"tokens", Json::array({content})}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", pieces_json(files.roles.single, files.settings)},
          {"pair", pieces_json(files.roles.pair, files.settings)},
          {"special_tokens", tokens}};
}

Json vocab_json(const WordPieceFiles& files) {
  Json vocab = Json::object();
  auto& members = vocab.get_ref<Json::object_t&>();
  for (std::size_t i = 0; i < files.vocab.id_limit(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const std::string_view token = files.vocab.token(id);
    if (files.vocab.find(token) != id) continue;  // a later line has the same token
    if (utf8::first_invalid(token) != utf8::kValid) {
      throw_model("tokenizer: " + files.origin + ": line " + std::to_string(i + 1) +
                  ": expected valid UTF-8, got other bytes");
    }
    // Appended as it is: each look-up of a key in an ordered object would search the whole of it.
    static_cast<std::vector<Json::object_t::value_type>&>(members).emplace_back(std::string(token), id);
  }
  return vocab;
}

}  // namespace

std::string json_from_vocab_txt(const FileSet& files) {
  const WordPieceFiles read = read_word_piece_files(files, read_settings(files));
  const Stages stages = stages_of(read);
  const Json document = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added_tokens_json(stages)},
                         {"normalizer", normalizer_json(read.normalizer)},
                         {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                         {"post_processor", template_json(read, stages)},
                         {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
                         {"model",
                          {{"type", "WordPiece"},
                           {"unk_token", read.settings.role_or("unk_token", "")},
                           {"continuing_subword_prefix", "##"},
                           {"max_input_chars_per_word", 100},
                           {"vocab", vocab_json(read)}}}};
  return document.dump();
}

}  // namespace mha::tokenizer
