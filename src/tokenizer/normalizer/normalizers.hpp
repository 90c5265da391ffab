#pragma once

#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/charsmap.hpp"
#include "tokenizer/normalizer/normalizer.hpp"

// One maker a component; normalizer.cpp holds the table of their names.
namespace mha::tokenizer {

using NormalizerPtr = std::shared_ptr<const Normalizer>;

NormalizerPtr make_bert_normalizer(const JsonValue& value);
NormalizerPtr make_nfc(const JsonValue& value);
NormalizerPtr make_nfd(const JsonValue& value);
NormalizerPtr make_nfkc(const JsonValue& value);
NormalizerPtr make_nfkd(const JsonValue& value);
NormalizerPtr make_lowercase(const JsonValue& value);
NormalizerPtr make_strip_accents(const JsonValue& value);
NormalizerPtr make_strip(const JsonValue& value);
NormalizerPtr make_replace(const JsonValue& value);
NormalizerPtr make_prepend(const JsonValue& value);
NormalizerPtr make_nmt(const JsonValue& value);
NormalizerPtr make_byte_level_normalizer(const JsonValue& value);
NormalizerPtr make_precompiled(const JsonValue& value);
/// The character map as SentencePiece itself applies it (longest entry first), then `then`, which may be null.
NormalizerPtr make_sentencepiece_normalizer(Charsmap map, NormalizerPtr then);
NormalizerPtr make_normalizer_sequence(const JsonValue& value);

}  // namespace mha::tokenizer
