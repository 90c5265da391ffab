#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"
#include "tokenizer/vocab.hpp"

namespace mha::tokenizer {

class JsonValue;

/// One token of a word: its id and the bytes of the text that it stands for.
struct Piece {
  std::int32_t id;
  std::uint32_t begin;  ///< bytes of the text handed to TokenModel::tokenize (not of the word)
  std::uint32_t end;
  std::uint32_t word;  ///< index into its words
};

/// Memory and bounded word cache of one thread for one model.
class TokenModelScratch {
 public:
  virtual ~TokenModelScratch() = default;
};

/// Third stage: words to pieces. Immutable after loading, shared by threads.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// Appends the pieces of all `words` (byte ranges of `text`, none empty). One call a text, so that the loop over
  /// words is the model's own. Throws Error{input} where the reference refuses a word.
  virtual void tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& scratch,
                        std::vector<Piece>& out) const = 0;
  virtual std::unique_ptr<TokenModelScratch> make_scratch() const { return std::make_unique<TokenModelScratch>(); }

  virtual std::string_view type() const = 0;
  virtual const Vocab& vocab() const = 0;
  /// The unknown token's id, -1 when there is none.
  virtual std::int32_t unk_id() const = 0;
  /// What begins each piece but the first of a word; empty: nothing does.
  virtual std::string_view continuing_prefix() const { return {}; }

  /// Whether words may come as bytes instead of ByteLevel's characters; `read_bytes` is then called once, while
  /// loading. `vocab()` stays as the file has it.
  virtual bool can_read_bytes() const { return false; }
  virtual void read_bytes() {}

  /// `tokenizer.json: model`; the keys of a model without a tag tell its type. Throws Error{model}.
  static std::shared_ptr<TokenModel> from_json(const JsonValue& value);
};

}  // namespace mha::tokenizer
