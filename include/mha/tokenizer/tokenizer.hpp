#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mha/tokenizer/encoding.hpp"

namespace mha {

class FileSet;

enum class TruncationSide { head, tail };  ///< which end of the text is kept
enum class TruncationStrategy { longest_first, only_first, only_second };

/// How one input is encoded. Defaults give what the reference gives with truncation and padding off.
struct EncodeOptions {
  bool add_special_tokens = true;
  bool plain_specials = false;            ///< special tokens inside the text are ordinary text
  std::optional<std::size_t> max_length;  ///< tokens with specials; no limit when empty
  TruncationSide keep = TruncationSide::head;
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  std::optional<std::size_t> stride;  ///< windows: tokens shared by neighbours; fills Encoding::overflowing
};

/// Scratch memory and word cache of one thread. Bounded; results do not depend on its contents.
class TokenizerScratch {
 public:
  TokenizerScratch();
  ~TokenizerScratch();
  TokenizerScratch(TokenizerScratch&&) noexcept;
  TokenizerScratch& operator=(TokenizerScratch&&) noexcept;

  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Text to token ids and back: normalizer → pre-tokenizer → model → post-processor, with added tokens matched first.
/// Read from a Hugging Face `tokenizer.json` or the older file sets; equals the reference (Rust tokenizers 0.22.2).
/// Immutable and shared by all threads; each thread brings a TokenizerScratch of its own.
class Tokenizer {
 public:
  /// A `tokenizer.json` object. `origin` is the path (or JSON path) that error messages name.
  /// Throws Error{model} for malformed files and unknown components, by name.
  static std::shared_ptr<const Tokenizer> from_json(std::string_view json, const std::string& origin);

  /// The tokenizer of a model folder: `tokenizer.json`, else `vocab.txt`, `vocab.json` + `merges.txt`, `*.model`
  /// with `tokenizer_config.json`, `special_tokens_map.json`, `added_tokens.json` (see docs/tokenizers.md).
  /// Throws Error{model} that lists what was looked for when there is none.
  static std::shared_ptr<const Tokenizer> from_folder(const std::string& folder);
  /// The same from a set of files, which need not be on disk.
  static std::shared_ptr<const Tokenizer> from_files(const FileSet& files);

  /// The `words` tokenizer of mha-json files: split as `\w+|[^\w\s]+`, looked up whole, no specials.
  static std::shared_ptr<const Tokenizer> from_words(std::vector<std::string> vocab, bool lowercase,
                                                     const std::string& unk, const std::string& origin);

  virtual ~Tokenizer() = default;

  /// Encodes valid UTF-8. `out` is cleared first. Throws Error{input} where the reference refuses the input and
  /// Error{usage} when max_length leaves no room for the specials.
  virtual void encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options,
                      TokenizerScratch& scratch, Encoding& out) const = 0;

  /// Text of ids through the decoder; Error{input} for an id outside the vocabulary.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const = 0;

  /// Text of vocabulary entries, or of texts made of some, through the decoder.
  virtual std::string join(std::vector<std::string> tokens) const = 0;

  /// Vocabulary size with added tokens.
  virtual std::size_t vocab_size() const = 0;
  /// The vocabulary entry of an id (may be bytes that are no character for byte-level pieces written as such).
  virtual std::string_view token(std::int32_t id) const = 0;
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;
  /// Whether the id is an added token marked special.
  virtual bool is_special(std::int32_t id) const = 0;
  /// What begins each piece inside a word (`##`); empty where pieces have no such mark.
  virtual std::string_view continuing_prefix() const = 0;
  /// Number of specials that the template adds to a single text, or to a pair.
  virtual std::size_t special_count(bool pair) const = 0;
  /// `mask_token`, `unk_token`, `pad_token`, `cls_token`, `sep_token` by role, from the files; empty when unknown.
  virtual std::optional<std::int32_t> role_id(std::string_view role) const = 0;

  /// The end of a long text that the files ask to keep (`truncation_side`); `encode` itself follows its options.
  virtual TruncationSide kept_side() const = 0;
  /// What a user should know about the files: unknown keys, and files that disagree. One sentence each.
  virtual const std::vector<std::string>& notes() const = 0;

  /// Facts for `model info`: {"type", "WordPiece"}, {"normalizer", "BertNormalizer"}, …
  virtual std::vector<std::pair<std::string, std::string>> summary() const = 0;

  /// A copy whose texts are lower-cased first, special tokens still found
  /// (`sentence_bert_config.json: do_lower_case`).
  virtual std::shared_ptr<const Tokenizer> with_lowercase() const = 0;
};

}  // namespace mha
