#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mha/tokenizer/encoding.hpp"
#include "tokenizer/vocab.hpp"

namespace mha::tokenizer {

class Normalizer;

/// A token found in the text before any model sees it.
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< only where no word character stands beside it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< and behind it
  bool normalized = false;   ///< its normalized form is looked for in the normalized text
  bool special = false;      ///< left out by `decode` when asked
  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

/// Finds the leftmost, there longest, of a set of literals; the earlier one of two that are equal.
class LiteralSearch {
 public:
  void add(std::string literal, std::int32_t id);
  /// After the last `add`.
  void build();
  bool empty() const { return literals_.empty(); }

  struct Match {
    std::size_t begin;
    std::size_t end;
    std::int32_t id;
  };
  /// The first match that begins at `from` or later.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Literal {
    std::string bytes;
    std::int32_t id;
  };
  std::optional<Match> match_at(std::string_view text, std::size_t at) const;

  std::vector<Literal> literals_;       ///< sorted
  std::uint32_t bucket_[257] = {};      ///< first literal that starts with each byte
  std::uint8_t first_bytes_[256] = {};  ///< 1: a literal starts with the byte
  std::bitset<65536> first_pairs_;      ///< first byte · 256 + second; all of a literal of one byte
  int only_first_ = -1;                 ///< the byte that all of them start with, when it is one
};

/// The added tokens of a tokenizer. Source: tokenizers 0.22.2, tokenizer/added_vocabulary.rs.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Tokens that the model's vocabulary has keep its id; the others are numbered from its size on, in file order,
  /// whatever id the file declares. `normalizer` may be null.
  AddedTokens(std::vector<AddedToken> tokens, const Vocab& vocab, const Normalizer* normalizer);

  /// One stretch of a text: an added token, or, with id −1, text between them.
  struct Segment {
    std::int32_t id;
    std::uint32_t begin;
    std::uint32_t end;
  };
  enum class Pass { raw, normalized };
  /// Cuts a text that is not empty. `plain_specials`: special tokens are ordinary text.
  void split(std::string_view text, Pass pass, bool plain_specials, std::vector<Segment>& out) const;

  bool any(Pass pass) const { return !(pass == Pass::raw ? raw_ : normalized_).empty(); }

  std::optional<std::int32_t> id_of(std::string_view content) const;
  /// The token of an id; null when it is no added one.
  const AddedToken* token(std::int32_t id) const;
  bool is_special(std::string_view content) const;
  /// One more than the greatest id of an added token.
  std::size_t id_limit() const { return id_limit_; }
  /// How many tokens the model's vocabulary does not have.
  std::size_t beyond_vocab() const { return beyond_vocab_; }

 private:
  std::vector<AddedToken> tokens_;                     ///< in the order they were added
  std::vector<AddedToken> specials_;                   ///< special ones, each content once
  std::unordered_map<std::string, std::int32_t> ids_;  ///< content → id
  std::unordered_map<std::int32_t, AddedToken> by_id_;
  std::unordered_map<std::string, bool> special_contents_;
  LiteralSearch raw_;
  LiteralSearch normalized_;
  std::size_t id_limit_ = 0;
  std::size_t beyond_vocab_ = 0;
};

}  // namespace mha::tokenizer
