#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mha/tokenizer/tokenizer.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/decoder/decoder.hpp"
#include "tokenizer/models/token_model.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "tokenizer/post_processor/post_processor.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

namespace mha::tokenizer {

/// The stages of a tokenizer, in the order in which a text passes them. The loaders fill this struct.
struct Stages {
  std::vector<AddedToken> added_tokens;
  std::shared_ptr<const Normalizer> normalizer;  ///< null: the text stays as it is
  std::shared_ptr<PreTokenizer> pre_tokenizer;   ///< null: the whole text is one word
  std::shared_ptr<TokenModel> model;             ///< never null
  PostProcessor post_processor;
  std::shared_ptr<const Decoder> decoder;    ///< null: tokens are joined with spaces
  std::map<std::string, std::string> roles;  ///< `mask_token` → `[MASK]`, …

  bool split_special_tokens = false;                ///< special tokens inside a text are ordinary text
  TruncationSide kept_side = TruncationSide::head;  ///< what the files ask for; the caller decides
  std::vector<std::string> notes;                   ///< what the user should know about the files
};

std::shared_ptr<const Tokenizer> make_tokenizer(Stages stages);

}  // namespace mha::tokenizer
