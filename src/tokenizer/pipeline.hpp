#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mha/tokenizer/tokenizer.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/decoder/decoder.hpp"
#include "tokenizer/model/model.hpp"
#include "tokenizer/normalizer/normalizer.hpp"
#include "tokenizer/post_processor/post_processor.hpp"
#include "tokenizer/pre_tokenizer/pre_tokenizer.hpp"

namespace mha::tokenizer {

/// What a tokenizer is made of; the loaders fill it in.
struct Parts {
  std::shared_ptr<const Normalizer> normalizer;  ///< may be null, as may pre_tokenizer and decoder
  std::shared_ptr<PreTokenizer> pre_tokenizer;
  std::shared_ptr<Model> model;
  std::shared_ptr<const Decoder> decoder;
  std::vector<AddedToken> added_tokens;
  PostProcessor post_processor;
  std::map<std::string, std::string> roles;  ///< `mask_token` → `[MASK]`, …
};

std::shared_ptr<const Tokenizer> make_tokenizer(Parts parts);

/// An entry of `added_tokens`.
AddedToken added_token_from_json(const JsonValue& value);
/// The parts of a `tokenizer.json`.
Parts parts_from_json(const JsonValue& root);

/// Padding as the reference does it, for tests of its goldens: the product batches ragged inputs and pads nothing.
struct Padding {
  std::optional<std::size_t> length;  ///< to this many tokens; else to the longest of a batch
  std::size_t multiple_of = 0;        ///< rounded up to a multiple; 0 is none
  bool left = false;
  std::int32_t id = 0;
  std::int32_t type_id = 0;
};
void pad(std::vector<Encoding>& batch, const Padding& padding);

}  // namespace mha::tokenizer
