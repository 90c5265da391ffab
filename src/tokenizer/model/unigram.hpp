#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/model/byte_trie.hpp"
#include "tokenizer/model/model.hpp"

namespace mha::tokenizer {

/// What a Unigram model is made of; a piece's id is its place in `vocab`.
struct UnigramParts {
  Vocab vocab;                 ///< ids 0 … scores.size() - 1, without holes
  std::vector<double> scores;  ///< log probabilities
  std::int32_t unk_id = -1;
  bool byte_fallback = false;
};

/// Unigram language model: the sequence of pieces with the greatest sum of scores. Sums are float64 from left to right, and
/// of equal ones the path found first stays. A character without a piece of its own costs the least score of all less 10;
/// neighbouring unknown characters are one token.
/// Source: tokenizers 0.22.2, models/unigram/model.rs, encode_optimized and tokenize.
class Unigram final : public Model {
 public:
  explicit Unigram(UnigramParts parts);

  void tokenize(std::string_view text, std::span<const Span> words, ModelScratch& scratch,
                std::vector<Piece>& out) const override;
  std::unique_ptr<ModelScratch> make_scratch() const override;

  std::string_view type() const override { return "Unigram"; }
  const Vocab& vocab() const override { return parts_.vocab; }
  std::int32_t unk_id() const override { return parts_.unk_id; }

 private:
  struct Scratch;

  /// The best path of a word, into scratch.path; neighbouring unknown characters not yet fused.
  void best_path(std::string_view word, Scratch& scratch) const;
  /// The pieces of a word, into scratch.parts.
  void cut(std::string_view word, Scratch& scratch) const;
  [[noreturn]] static void fail_without_unk();

  UnigramParts parts_;
  ByteTrie trie_;
  double unk_score_ = 0;
  std::array<std::int32_t, 256> fallback_{};  ///< `<0x00>` … `<0xFF>`, -1 where there is none
};

}  // namespace mha::tokenizer
