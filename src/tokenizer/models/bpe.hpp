#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/large_allocator.hpp"
#include "tokenizer/models/token_model.hpp"

namespace mha::tokenizer {

/// What a BPE model is made of, wherever it was read from.
struct BpeOptions {
  /// Left and right symbol and what they become; the position in the list is the rank.
  struct Merge {
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
  };

  Vocab vocab;
  std::vector<Merge> merges;
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;

  /// A merge by the names of its tokens and what comes of them, with what their look-ups start from.
  struct NamedMerge {
    std::array<std::string, 3> names;
    std::array<Vocab::Key, 3> keys;
  };
  void name_merge(std::string_view left, std::string_view right, NamedMerge& merge) const;
  /// Appends a merge. Returns the token that is not in the vocabulary, or empty when all is well.
  std::string add_merge(const NamedMerge& merge);
  std::string add_merge(std::string_view left, std::string_view right);
};

/// Byte-pair encoding: symbols are joined two by two, lowest rank first, leftmost first among equals. Dropout is
/// ignored: encoding is deterministic. Source: tokenizers 0.22.2, models/bpe/model.rs and word.rs.
class Bpe final : public TokenModel {
 public:
  explicit Bpe(BpeOptions parts);

  void tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& scratch,
                std::vector<Piece>& out) const override;
  std::unique_ptr<TokenModelScratch> make_scratch() const override;

  std::string_view type() const override { return "BPE"; }
  const Vocab& vocab() const override { return parts_.vocab; }
  std::int32_t unk_id() const override { return unk_id_; }
  std::string_view continuing_prefix() const override { return parts_.continuing_subword_prefix; }
  bool can_read_bytes() const override { return true; }
  void read_bytes() override;

 private:
  struct Scratch;

  /// A symbol of a word: what it is, bytes of the word it stands for, and initial symbols it was made of.
  struct Symbol {
    std::int32_t id;
    std::uint32_t bytes;
    std::uint32_t count;
  };

  /// Rank and result of merging two symbols; kNoRank when they do not merge.
  struct Found {
    std::uint32_t rank;
    std::int32_t result;
  };
  struct Slot {
    std::uint32_t left;
    std::uint32_t right;
    std::uint32_t rank;
    std::int32_t result;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

  Found find_merge(std::int32_t left, std::int32_t right) const;

  /// The initial symbols of a word of characters, into scratch.symbols.
  void symbols_of(std::string_view word, Scratch& scratch) const;
  /// The same for a word of bytes; false when one of them has no token.
  bool symbols_of_bytes(std::string_view word, Scratch& scratch) const;
  std::int32_t token_of(std::string_view character, bool first, bool last, Scratch& scratch) const;

  /// Merges `symbols` and appends the result to `out`.
  void merge(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const;
  void merge_few(std::span<const Symbol> symbols, std::vector<Symbol>& out) const;
  void merge_many(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const;
  void merge_long(std::span<const Symbol> symbols, Scratch& scratch, std::vector<Symbol>& out) const;
  /// Whether two neighbours stay apart when their text is merged anew.
  bool stay_apart(const Symbol& left, const Symbol& right, std::span<const Symbol> symbols, Scratch& scratch) const;

  /// The pieces of one word into scratch.result.
  void cut(std::string_view word, Scratch& scratch) const;

  BpeOptions parts_;
  LargeVector<Slot> slots_;
  unsigned shift_ = 0;  ///< 64 - log2 of slots
  std::int32_t unk_id_ = -1;
  bool affixes_ = false;
  bool reads_bytes_ = false;
  std::array<std::int32_t, 256> fallback_{};                ///< `<0x00>` … `<0xFF>`, -1 where there is none
  std::array<std::array<std::int32_t, 256>, 4> initial_{};  ///< by first + 2·last: ASCII characters, or bytes
};

}  // namespace mha::tokenizer
