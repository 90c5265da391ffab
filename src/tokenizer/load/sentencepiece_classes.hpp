#pragma once

#include <array>
#include <string_view>

#include "tokenizer/load/role_template.hpp"
#include "tokenizer/load/settings.hpp"

namespace mha::tokenizer {

/// How a tokenizer class numbers the pieces of a SentencePiece model.
enum class PieceOrder {
  plain,             ///< as in the file
  third_unknown,     ///< as in the file, but piece 3 is the unknown one
  fairseq,           ///< `<s> <pad> </s> <unk>` first, `<mask>` last
  camembert,         ///< the same with names that no text holds
  extra_ids,         ///< `<extra_id_N>` behind the file's pieces, the greatest N first
  penalised_commas,  ///< as in the file; pieces such as "5," are hardly ever taken
};

/// How a tokenizer class rewrites and cuts a text before the model.
enum class TextRules { words, albert, deberta };

struct SentencePieceClass {
  std::string_view name;  ///< tokenizer class; empty: none
  std::string_view model_type;
  PieceOrder order;
  TextRules text;
  bool lower_case;                               ///< default of do_lower_case
  bool keep_accents;                             ///< default of keep_accents
  std::array<const char*, kRoles.size()> roles;  ///< in the order of kRoles; empty: none
  bool mask_takes_space;                         ///< the mask is a word of its own, with the space before it
  RoleTemplate specials;
};

/// The class that the settings name, else that of the model type; null if none is known.
const SentencePieceClass* sentencepiece_class_of(const TokenizerSettings& settings);

}  // namespace mha::tokenizer
