#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/large_allocator.hpp"
#include "tokenizer/fast/byte_trie.hpp"
#include "tokenizer/models/token_model.hpp"

namespace mha::tokenizer {

/// The parts of a Unigram model.
struct UnigramOptions {
  struct Piece {
    std::int32_t id;             ///< of its token
    double score;                ///< log probability
    std::string_view text = {};  ///< empty: the token's own; needed only while the model is built
  };

  Vocab vocab;
  LargeVector<Piece> pieces;  ///< each text once
  double least_score = 0;     ///< of all entries of the vocabulary; unknown characters cost less than it
  std::int32_t unk_id = -1;
  bool byte_fallback = false;

  /// Pieces and least score of a vocabulary with ids 0 … scores.size() - 1 and one score per id. If a text occurs
  /// twice, the last entry counts.
  void add_pieces(std::span<const double> scores);
};

/// Unigram language model: the sequence of pieces with the greatest sum of scores. Sums are float64 from left to right,
/// and of equal paths the first one found wins. A character without a piece of its own costs the least score of all
/// minus 10; neighbouring unknown characters are one token. Source: tokenizers 0.22.2, models/unigram/model.rs,
/// encode_optimized and tokenize.
class Unigram final : public TokenModel {
 public:
  explicit Unigram(UnigramOptions parts);

  void tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& scratch,
                std::vector<Piece>& out) const override;
  std::unique_ptr<TokenModelScratch> make_scratch() const override;

  std::string_view type() const override { return "Unigram"; }
  const Vocab& vocab() const override { return vocab_; }
  std::int32_t unk_id() const override { return unk_id_; }

 private:
  struct Scratch;
  static constexpr std::int32_t kNoPiece = -1;  ///< an unknown character

  /// The best path of a word, into scratch.path; neighbouring unknown characters not yet fused.
  void best_path(std::string_view word, Scratch& scratch) const;
  /// The pieces of a word, into scratch.parts.
  void cut(std::string_view word, Scratch& scratch) const;
  [[noreturn]] static void fail_without_unk();

  Vocab vocab_;
  ByteTrie trie_;
  LargeVector<double> scores_;     ///< by piece
  LargeVector<std::int32_t> ids_;  ///< by piece
  double unk_score_ = 0;
  std::int32_t unk_id_ = -1;
  std::int32_t unk_piece_ = kNoPiece;  ///< the unknown token written out in a text is fused like unknown characters
  bool byte_fallback_ = false;
  std::array<std::int32_t, 256> fallback_{};  ///< `<0x00>` … `<0xFF>`, -1 if there is none
};

}  // namespace mha::tokenizer
