// Marian: a SentencePiece model cuts the text, vocab.json numbers the pieces.
// Source: transformers 5.24.0, models/marian/tokenization_marian.py.
#include <algorithm>

#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/load/load.hpp"
#include "tokenizer/load/role_template.hpp"
#include "tokenizer/load/sentencepiece_stages.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

using Type = SentencePieceModel::Type;

constexpr RolePiece kSingle[] = {{kText}, {"eos_token"}};
constexpr RolePiece kMarianPair[] = {{kText}, {kPair}, {"eos_token"}};

}  // namespace

Stages stages_from_marian(const FileSet& files, const TokenizerSettings& settings) {
  const FileBytes bytes = files.open("source.spm");
  const SentencePieceModel file = read_sentencepiece(bytes.text(), bytes.origin);
  if (file.kind != SentencePieceModel::Kind::unigram) {
    throw_model("tokenizer: " + bytes.origin + ": expected a Unigram model, got another kind");
  }
  const FileBytes vocab_file = files.open("vocab.json");
  const auto document = JsonDocument::parse(vocab_file.text(), vocab_file.origin);
  TokenizerSettings all = settings;
  all.assume("eos_token", "</s>");
  all.assume("unk_token", "<unk>");
  all.assume("pad_token", "<pad>");

  UnigramOptions unigram;
  unigram.vocab = read_vocab(document.root());
  const std::string unk = all.role_or("unk_token", "");
  unigram.unk_id = unigram.vocab.find(unk);
  if (unigram.unk_id < 0) throw_model("tokenizer: " + vocab_file.origin + ": expected \"" + unk + "\", got none");
  for (const SentencePieceModel::Piece& piece : file.pieces) {
    unigram.least_score = std::min(unigram.least_score, static_cast<double>(piece.score));
    if (piece.type != Type::normal && piece.type != Type::user_defined && piece.type != Type::unused) continue;
    const std::int32_t id = unigram.vocab.find(piece.text);
    unigram.pieces.push_back({id < 0 ? unigram.unk_id : id, piece.score, piece.text});
  }
  Stages stages;
  stages.model = make_unigram(std::move(unigram));
  add_sentencepiece_text_stages(file, false, bytes.origin, stages);
  add_special_tokens({kSingle, kMarianPair}, all, bytes.origin, stages);
  return stages;
}

}  // namespace mha::tokenizer
