#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/file_set.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/stages.hpp"

// A tokenizer from the files of a model folder. Each older file set is one function from files and settings to Stages.
namespace mha::tokenizer {

/// What the small files beside a vocabulary say: tokenizer_config.json, special_tokens_map.json, added_tokens.json, and
/// the model type of config.json. All forms of transformers 4 and 5.
struct TokenizerSettings {
  std::string tokenizer_class;  ///< without "Fast"; empty when no file says
  std::string model_type;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  std::optional<bool> add_prefix_space;
  std::optional<bool> keep_accents;
  std::optional<bool> split_by_punct;
  std::optional<std::size_t> extra_ids;
  std::map<std::string, AddedToken> roles;      ///< `mask_token` → the token, special
  std::vector<AddedToken> additional_specials;  ///< additional_special_tokens, extra_special_tokens
  std::vector<AddedToken> added;                ///< added_tokens_decoder, else added_tokens.json, by ascending id

  /// Content of a role, or what the reference's class has by default.
  std::string role_or(const std::string& role, const std::string& fallback) const;
  /// `added`, then roles and additional specials that are not among them: in the order the reference adds them.
  std::vector<AddedToken> all_added() const;
};

/// Reads whichever of the small files are there. Throws Error{model} with file and JSON path.
TokenizerSettings read_settings(const FileSet& files);

/// WordPiece: vocab.txt.
Stages stages_from_vocab_txt(const FileSet& files, const TokenizerSettings& settings);
/// The same as one tokenizer.json. Throws Error{model} for what JSON cannot hold.
std::string json_from_vocab_txt(const FileSet& files);
/// Byte-level BPE: vocab.json and merges.txt.
Stages stages_from_vocab_and_merges(const FileSet& files, const TokenizerSettings& settings);
/// Marian: source.spm cuts the text, vocab.json numbers the pieces.
Stages stages_from_marian(const FileSet& files, const TokenizerSettings& settings);
/// SentencePiece: the file `name`.
Stages stages_from_sentencepiece(const FileSet& files, const std::string& name, const TokenizerSettings& settings);

/// `text` as a JSON string, for such texts.
std::string json_string(std::string_view text);

/// The single component that a small JSON text describes, for file sets that have no tokenizer.json.
template <typename Stage>
auto component(const std::string& json, const std::string& origin) {
  const JsonDocument document = JsonDocument::parse(json, origin);
  return Stage::from_json(document.root());
}

/// A TemplateProcessing from its pieces, as the reference's builder reads them: `[CLS]:0 $A:0 [SEP]:0`. Special tokens
/// must be in `parts`.
PostProcessor template_processor(const std::string& single, const std::string& pair, const Stages& parts,
                                 const std::string& origin);

}  // namespace mha::tokenizer
