#pragma once

#include <string>

#include "io/file_set.hpp"
#include "tokenizer/load/role_template.hpp"
#include "tokenizer/load/settings.hpp"
#include "tokenizer/models/models.hpp"
#include "tokenizer/normalizer/normalizers.hpp"

namespace mha::tokenizer {

/// What a vocab.txt and the files beside it say.
struct WordPieceFiles {
  std::string origin;  ///< the path of vocab.txt, for errors
  Vocab vocab;
  TokenizerSettings settings;  ///< with the roles that the tokenizer class has by default
  BertNormalizerOptions normalizer;
  RoleTemplate roles;
};

WordPieceFiles read_word_piece_files(const FileSet& files, const TokenizerSettings& settings);
Stages stages_of(const WordPieceFiles& files);

}  // namespace mha::tokenizer
