#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/file_set.hpp"
#include "mha/tokenizer/tokenizer.hpp"
#include "tokenizer/added_tokens.hpp"

namespace mha::tokenizer {

class JsonValue;

/// The roles of special tokens, in the order in which the reference adds them.
inline constexpr std::array kRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};

/// What the small files beside a vocabulary say: tokenizer_config.json, special_tokens_map.json, added_tokens.json, and
/// the model type of config.json. All forms of transformers 4 and 5.
struct TokenizerSettings {
  std::string tokenizer_class;  ///< without "Fast"; empty if no file says
  std::string model_type;
  std::optional<bool> do_lower_case;
  std::optional<bool> strip_accents;
  std::optional<bool> tokenize_chinese_chars;
  std::optional<bool> add_prefix_space;
  std::optional<bool> keep_accents;
  std::optional<bool> split_by_punct;
  std::optional<bool> trim_offsets;
  std::optional<std::size_t> extra_ids;
  std::optional<TruncationSide> kept_side;  ///< truncation_side: the end that is *not* cut
  bool split_special_tokens = false;        ///< special tokens inside a text are ordinary text
  bool has_type_ids = true;                 ///< false: model_input_names leaves token_type_ids out
  bool has_decoder = false;                 ///< added_tokens_decoder is there: the other lists of tokens do not count
  std::map<std::string, AddedToken> roles;  ///< `mask_token` → the token, special
  std::vector<AddedToken> own_roles;        ///< tokens of other roles (`image_token`), special
  std::vector<AddedToken> additional_specials;  ///< additional_special_tokens, extra_special_tokens
  std::vector<AddedToken> added;                ///< added_tokens_decoder, else added_tokens.json, by ascending id
  std::vector<std::string> notes;               ///< what the user should know: unknown keys, disagreements

  /// Content of a role, or `fallback`.
  std::string role_or(const std::string& role, const std::string& fallback) const;
  /// Gives a role the token of the reference's class, unless a file names another one.
  void assume(const std::string& role, const std::string& content);
  /// `added`, then roles and additional specials that are not among them: in the order the reference adds them.
  std::vector<AddedToken> all_added() const;
};

/// Reads those of the small files that exist. Throws Error{model} with file and JSON path.
TokenizerSettings read_settings(const FileSet& files);

/// The side that truncation keeps, from the side that it cuts: `left` or `right`, with a small or a capital letter.
TruncationSide kept_side_of(const JsonValue& value);
AddedToken special_token(std::string content);
/// An entry of `added_tokens`.
AddedToken added_token_from_json(const JsonValue& value);

}  // namespace mha::tokenizer
