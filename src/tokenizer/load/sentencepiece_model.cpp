// The vocabulary of each tokenizer class, and the model over it.
#include <algorithm>
#include <tuple>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/load/sentencepiece_stages.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

using Type = SentencePieceModel::Type;

void expect_pieces(const SentencePieceModel& model, std::size_t least, const std::string& origin) {
  if (model.pieces.size() >= least) return;
  throw_model("tokenizer: " + origin + ": expected at least " + std::to_string(least) + " pieces, got " +
              std::to_string(model.pieces.size()));
}

/// Tokens in the order of their ids, with scores, and the unknown one.
struct Vocabulary {
  std::vector<std::pair<std::string, double>> tokens;
  std::int32_t unk_id;
};

// "5," is left to "5" and ",": such pieces are hardly ever taken.
bool is_digit_comma(std::string_view piece) {
  return piece.size() >= 2 && piece.back() == ',' && piece[piece.size() - 2] >= '0' && piece[piece.size() - 2] <= '9';
}

Vocabulary vocabulary_of(const SentencePieceModel& model, PieceOrder order, const TokenizerSettings& settings,
                         const std::string& origin) {
  Vocabulary v{{}, model.unk_id};
  const auto append = [&](std::size_t first) {
    expect_pieces(model, first + 1, origin);
    for (std::size_t i = first; i < model.pieces.size(); ++i) {
      const SentencePieceModel::Piece& piece = model.pieces[i];
      const bool penalty = order == PieceOrder::penalised_commas && is_digit_comma(piece.text);
      v.tokens.emplace_back(piece.text, static_cast<double>(piece.score) - (penalty ? 100 : 0));
    }
  };
  switch (order) {
    case PieceOrder::plain:
    case PieceOrder::penalised_commas:
      append(0);
      break;
    case PieceOrder::third_unknown:
      append(0);
      v.unk_id = 3;
      break;
    case PieceOrder::extra_ids:
      append(0);
      for (std::size_t i = settings.extra_ids.value_or(100); i-- > 0;) {
        v.tokens.emplace_back("<extra_id_" + std::to_string(i) + ">", 0);
      }
      break;
    case PieceOrder::fairseq:
      for (const char* token : {"<s>", "<pad>", "</s>", "<unk>"}) v.tokens.emplace_back(token, 0);
      append(3);
      v.tokens.emplace_back("<mask>", 0);
      v.unk_id = 3;
      break;
    case PieceOrder::camembert:
      for (const char* token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) v.tokens.emplace_back(token, 0);
      v.tokens.emplace_back("<unk>NOTUSED", -100);
      append(1);
      v.tokens.emplace_back("<mask>", 0);
      v.unk_id = 3;
      break;
  }
  return v;
}

Vocab vocab_of(const std::vector<std::pair<std::string, double>>& tokens) {
  Vocab vocab;
  std::size_t bytes = 0;
  for (const auto& token : tokens) bytes += token.first.size();
  vocab.reserve(tokens.size(), bytes);
  for (std::size_t i = 0; i < tokens.size(); ++i) vocab.add_or_replace(tokens[i].first, static_cast<std::int32_t>(i));
  return vocab;
}

// SentencePiece joins any two pieces whose joint text is a piece, best score first: merges in that order, longer left
// parts first among equals. Source: convert_slow_tokenizer.py, generate_merges.
void add_merges(const SentencePieceModel& model, const std::vector<std::pair<std::string, double>>& tokens,
                const std::string& origin, BpeOptions& bpe) {
  Vocab pieces;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) pieces.add(model.pieces[i].text, static_cast<std::int32_t>(i));
  struct Merge {
    double score;
    std::size_t left_length;
    std::size_t right_length;
    std::pair<std::int32_t, std::int32_t> ids;
    std::string_view left;
    std::string_view right;
  };
  std::vector<Merge> merges;
  for (const auto& [text, score] : tokens) {
    const std::size_t first = merges.size();
    const std::string_view whole = text;
    std::size_t position = 0;
    const std::size_t length = utf8::length(whole);
    for (std::size_t i = 1; i < length; ++i) {
      utf8::next(whole, position);
      const std::string_view left = whole.substr(0, position);
      const std::string_view right = whole.substr(position);
      const std::int32_t left_id = pieces.find(left);
      const std::int32_t right_id = left_id < 0 ? -1 : pieces.find(right);
      if (right_id >= 0) merges.push_back({score, i, length - i, {left_id, right_id}, left, right});
    }
    std::stable_sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
                     [](const Merge& a, const Merge& b) { return a.ids < b.ids; });
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_length, a.right_length) > std::tie(b.score, b.left_length, b.right_length);
  });
  for (const Merge& merge : merges) {
    if (const std::string missing = bpe.add_merge(merge.left, merge.right); !missing.empty()) {
      throw_model("tokenizer: " + origin + ": expected a piece \"" + missing + "\", got none");
    }
  }
}

}  // namespace

std::shared_ptr<TokenModel> sentencepiece_model(const SentencePieceModel& file, const SentencePieceClass* c,
                                                const TokenizerSettings& settings, const std::string& origin) {
  const Vocabulary v = vocabulary_of(file, c == nullptr ? PieceOrder::plain : c->order, settings, origin);
  if (v.unk_id < 0 || static_cast<std::size_t>(v.unk_id) >= v.tokens.size()) {
    throw_model("tokenizer: " + origin + ": expected an unknown piece number below " + std::to_string(v.tokens.size()) +
                ", got " + std::to_string(v.unk_id));
  }
  const bool own = c == nullptr;
  if (file.kind == SentencePieceModel::Kind::unigram) {
    UnigramOptions unigram;
    unigram.vocab = vocab_of(v.tokens);
    std::vector<double> scores;
    for (const auto& token : v.tokens) scores.push_back(token.second);
    unigram.add_pieces(scores);
    if (own) {  // a text that spells out "<s>" is not the control piece
      std::erase_if(unigram.pieces, [&](const UnigramOptions::Piece& piece) {
        const Type type = file.pieces[static_cast<std::size_t>(piece.id)].type;
        return type == Type::control || type == Type::unknown || type == Type::byte;
      });
    }
    unigram.unk_id = v.unk_id;
    unigram.byte_fallback = own && file.byte_fallback;
    return make_unigram(std::move(unigram));
  }
  if (file.kind != SentencePieceModel::Kind::bpe) {
    throw_model("tokenizer: " + origin + ": expected a Unigram or BPE model, got one of words or characters");
  }
  BpeOptions bpe;
  bpe.vocab = vocab_of(v.tokens);
  bpe.unk_token = file.unk_piece;
  bpe.fuse_unk = true;
  bpe.byte_fallback = own && file.byte_fallback;
  bpe.ignore_merges = own && !user_defined_pattern(file).empty();
  add_merges(file, v.tokens, origin, bpe);
  return make_bpe(std::move(bpe));
}

}  // namespace mha::tokenizer
