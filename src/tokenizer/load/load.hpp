#pragma once

#include <string>

#include "io/file_set.hpp"
#include "tokenizer/load/settings.hpp"
#include "tokenizer/stages.hpp"

// A tokenizer from the files of a model folder: one function per file set.
namespace mha::tokenizer {

/// A parsed `tokenizer.json`.
Stages stages_from_json(const JsonValue& root);
/// The same in a folder: if tokenizer_config.json disagrees, does what the reference's tokenizer class does, and adds a
/// note.
Stages stages_from_json(const JsonValue& root, const TokenizerSettings& settings);
/// WordPiece: vocab.txt.
Stages stages_from_vocab_txt(const FileSet& files, const TokenizerSettings& settings);
/// Byte-level BPE: vocab.json and merges.txt.
Stages stages_from_vocab_and_merges(const FileSet& files, const TokenizerSettings& settings);
/// SentencePiece: the file `name`.
Stages stages_from_sentencepiece(const FileSet& files, const std::string& name, const TokenizerSettings& settings);
/// Marian: source.spm cuts the text, vocab.json numbers the pieces.
Stages stages_from_marian(const FileSet& files, const TokenizerSettings& settings);

/// The tokenizer of a vocab.txt as the text of a tokenizer.json. Throws Error{model} for what JSON cannot hold.
std::string json_from_vocab_txt(const FileSet& files);

}  // namespace mha::tokenizer
