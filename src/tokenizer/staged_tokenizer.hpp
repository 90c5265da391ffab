#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mha/tokenizer/tokenizer.hpp"
#include "tokenizer/added_tokens.hpp"
#include "tokenizer/stages.hpp"
#include "tokenizer/token_sequence.hpp"
#include "tokenizer/trim_offsets.hpp"

namespace mha {

struct TokenizerScratch::Impl {
  tokenizer::PreTokenizedText whole;
  tokenizer::PreTokenizedText part;
  std::vector<tokenizer::AddedTokens::Segment> raw_segments;
  std::vector<tokenizer::AddedTokens::Segment> normalized_segments;
  tokenizer::TokenSequence sequences[2];
  std::shared_ptr<const tokenizer::TokenModel> model;  ///< owner of `model_scratch`'s layout
  std::unique_ptr<tokenizer::TokenModelScratch> model_scratch;
};

namespace tokenizer {

/// A tokenizer that passes a text through its stages: added tokens, normalizer, pre-tokenizer, model, post-processor.
/// Source: tokenizers 0.22.2, tokenizer/mod.rs.
class StagedTokenizer final : public Tokenizer {
 public:
  explicit StagedTokenizer(Stages stages);

  void encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options,
              TokenizerScratch& scratch, Encoding& out) const override;
  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override;
  std::string join(std::vector<std::string> tokens) const override;

  std::size_t vocab_size() const override;
  std::string_view token(std::int32_t id) const override;
  std::optional<std::int32_t> id_of(std::string_view token) const override;
  bool is_special(std::int32_t id) const override;
  std::string_view continuing_prefix() const override { return stages_.model->continuing_prefix(); }
  std::size_t special_count(bool pair) const override { return stages_.post_processor.special_count(pair); }
  std::optional<std::int32_t> role_id(std::string_view role) const override;
  std::vector<std::pair<std::string, std::string>> summary() const override;
  TruncationSide kept_side() const override { return stages_.kept_side; }
  const std::vector<std::string>& notes() const override { return stages_.notes; }
  std::shared_ptr<const Tokenizer> with_lowercase() const override;

 private:
  void encode_with(TokenizerScratch::Impl& memory, std::string_view text, std::optional<std::string_view> pair,
                   const EncodeOptions& options, Encoding& out) const;
  /// Text to tokens, before truncation and template.
  void tokenize(std::string_view text, bool plain_specials, TokenizerScratch::Impl& memory, TokenSequence& out) const;
  /// Appends the tokens of a normalized text without added tokens; `word` is the number of its first word.
  void tokenize_words(PreTokenizedText& text, bool ascii, TokenizerScratch::Impl& memory, std::uint32_t& word,
                      TokenSequence& out) const;
  void add_match(std::int32_t id, std::string_view matched, Span offsets, std::uint32_t word, TokenSequence& out) const;
  void note_unknown_texts(std::string_view bytes, std::size_t first, TokenSequence& out) const;

  std::size_t vocab_limit() const;
  bool has_token(std::int32_t id) const;

  Stages stages_;
  AddedTokens added_;
  OffsetTrimmer trimmer_;
};

}  // namespace tokenizer
}  // namespace mha
