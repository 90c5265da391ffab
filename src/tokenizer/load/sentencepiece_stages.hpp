#pragma once

#include <memory>
#include <string>

#include "tokenizer/load/sentencepiece_classes.hpp"
#include "tokenizer/load/sentencepiece_file.hpp"
#include "tokenizer/load/settings.hpp"
#include "tokenizer/stages.hpp"

namespace mha::tokenizer {

/// The token model of a SentencePiece file: as a tokenizer class of transformers numbers its pieces, or, if `c` is
/// null, as SentencePiece itself encodes. Throws Error{model} that names `origin`.
std::shared_ptr<TokenModel> sentencepiece_model(const SentencePieceModel& file, const SentencePieceClass* c,
                                                const TokenizerSettings& settings, const std::string& origin);

/// Normalizer, pre-tokenizer and decoder by the normalizer specification of the file, followed to the letter.
void add_sentencepiece_text_stages(const SentencePieceModel& file, bool byte_fallback, const std::string& origin,
                                   Stages& stages);

/// Regular expression of the user-defined pieces, which are never merged with their neighbours; the longest first.
/// Empty if there are none.
std::string user_defined_pattern(const SentencePieceModel& file);

}  // namespace mha::tokenizer
