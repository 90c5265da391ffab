// The way of a text through the stages.
#include <algorithm>
#include <limits>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/assemble.hpp"
#include "tokenizer/release.hpp"
#include "tokenizer/staged_tokenizer.hpp"
#include "tokenizer/truncation.hpp"

namespace mha::tokenizer {
namespace {

// Words per call of the model: few enough that their tokens stay in the CPU cache.
constexpr std::size_t kWordsAtOnce = 4096;

// Scratch memory is given back after a text of more bytes than this.
constexpr std::size_t kLongText = std::size_t{1} << 20;

// Grows by a quarter, so that the many tokens of a long text do not take twice their memory.
template <typename T>
void reserve_more(std::vector<T>& values, std::size_t more) {
  const std::size_t size = values.size() + more;
  if (size > values.capacity()) values.reserve(std::max(size, values.capacity() + values.capacity() / 4));
}

}  // namespace

void StagedTokenizer::encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options,
                             TokenizerScratch& scratch, Encoding& out) const {
  TokenizerScratch::Impl& memory = *scratch.impl;
  if (memory.model != stages_.model) {
    memory.model = stages_.model;
    memory.model_scratch = stages_.model->make_scratch();
  }
  try {
    encode_with(memory, text, pair, options, out);
  } catch (...) {
    out.clear();
    throw;
  }
  if (text.size() + pair.value_or("").size() > kLongText) scratch = TokenizerScratch();
}

void StagedTokenizer::encode_with(TokenizerScratch::Impl& memory, std::string_view text,
                                  std::optional<std::string_view> pair, const EncodeOptions& options,
                                  Encoding& out) const {
  out.overflowing.clear();
  TokenSequence(&sequences)[2] = memory.sequences;
  const bool plain_specials = options.plain_specials || stages_.split_special_tokens;
  tokenize(text, plain_specials, memory, sequences[0]);
  if (pair) tokenize(*pair, plain_specials, memory, sequences[1]);
  const std::size_t first = sequences[0].tokens.size();
  const std::size_t second = pair ? sequences[1].tokens.size() : 0;
  const PostProcessor::Layout& layout = stages_.post_processor.layout(pair.has_value(), options.add_special_tokens);
  const std::size_t specials = options.add_special_tokens ? special_count(pair.has_value()) : 0;
  out.full_length = first + second + specials;
  const Assembler assembler(sequences, stages_.post_processor, trimmer_, stages_.model->vocab());
  if (!options.max_length || out.full_length <= *options.max_length) return assembler.write_whole(layout, out);
  if (*options.max_length < specials) {
    throw_usage("tokenizer: maximum length: expected at least the " + std::to_string(specials) +
                " special tokens, got " + std::to_string(*options.max_length));
  }
  const auto pair_size = pair ? std::optional(second) : std::nullopt;
  assembler.write_truncated(layout, truncate(first, pair_size, *options.max_length - specials, options), out);
}

void StagedTokenizer::tokenize(std::string_view text, bool plain_specials, TokenizerScratch::Impl& memory,
                               TokenSequence& out) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max() / 4) {
    throw_input("tokenizer: text: expected less than 1 GiB, got " + std::to_string(text.size()) + " bytes");
  }
  const bool ascii = utf8::is_ascii(text);
  if (const std::size_t bad = ascii ? utf8::kValid : utf8::first_invalid(text); bad != utf8::kValid) {
    throw_input("tokenizer: text: expected valid utf-8, got an invalid byte at " + std::to_string(bad));
  }
  out.text = text;
  out.tokens.clear();
  out.own_margins.clear();
  if (text.empty()) return;
  std::uint32_t word = 0;
  memory.raw_segments.clear();
  added_.split(text, AddedTokens::Pass::raw, plain_specials, memory.raw_segments);
  for (const auto& segment : memory.raw_segments) {
    if (segment.id >= 0) {
      add_match(segment.id, text.substr(segment.begin, segment.end - segment.begin), {segment.begin, segment.end},
                word++, out);
      continue;
    }
    PreTokenizedText& whole = memory.whole;
    whole.text.assign(text, segment.begin, segment.end - segment.begin);
    if (stages_.normalizer) stages_.normalizer->normalize(whole.text);
    if (whole.text.empty()) continue;
    if (!added_.any(AddedTokens::Pass::normalized)) {
      tokenize_words(whole, ascii, memory, word, out);
      continue;
    }
    const std::string_view normalized = whole.text.text();
    memory.normalized_segments.clear();
    added_.split(normalized, AddedTokens::Pass::normalized, plain_specials, memory.normalized_segments);
    for (const auto& inner : memory.normalized_segments) {
      if (inner.id >= 0) {
        add_match(inner.id, normalized.substr(inner.begin, inner.end - inner.begin),
                  whole.text.origin(inner.begin, inner.end), word++, out);
      } else if (memory.normalized_segments.size() == 1) {
        tokenize_words(whole, ascii, memory, word, out);
      } else {
        whole.text.slice(inner.begin, inner.end, memory.part.text);
        tokenize_words(memory.part, ascii, memory, word, out);
      }
    }
  }
}

// The text of an added token is what it matched, spaces included.
void StagedTokenizer::add_match(std::int32_t id, std::string_view matched, Span offsets, std::uint32_t word,
                                TokenSequence& out) const {
  if (!trimmer_.empty()) {
    out.own_margins.emplace_back(static_cast<std::uint32_t>(out.tokens.size()), margins_of(matched));
  }
  out.tokens.push_back({id, offsets.begin, offsets.end, word});
}

void StagedTokenizer::tokenize_words(PreTokenizedText& text, bool ascii, TokenizerScratch::Impl& memory,
                                     std::uint32_t& word, TokenSequence& out) const {
  const std::string_view bytes = text.text.text();
  text.words.assign(1, {0, static_cast<std::uint32_t>(bytes.size())});
  if (stages_.pre_tokenizer) stages_.pre_tokenizer->pre_tokenize(text);
  release_large(text.next_words);
  release_large(text.matches);
  const std::string_view normalized = text.text.text();
  const std::span<const Span> words = text.words;
  // If every byte is a character of the original at its own place, the model's ranges need no translation.
  const bool same = ascii && text.text.one_to_one() && text.text.base() == 0;
  for (std::size_t first = 0; first < words.size(); first += kWordsAtOnce) {
    const std::span<const Span> some = words.subspan(first, std::min(kWordsAtOnce, words.size() - first));
    const std::size_t old = out.tokens.size();
    reserve_more(out.tokens, some.size());
    stages_.model->tokenize(normalized, some, *memory.model_scratch, out.tokens);
    if (!trimmer_.empty()) note_unknown_texts(normalized, old, out);
    if (!same || word != 0) {
      for (Piece& token : std::span(out.tokens).subspan(old)) {
        const Span origin = text.text.origin(token.begin, token.end);
        token = {token.id, origin.begin, origin.end, token.word + word};
      }
    }
    word += static_cast<std::uint32_t>(some.size());
  }
  release_large(text.words);
}

// The reference names Unigram's unknown tokens by the text that they stand for, not by the unknown piece.
void StagedTokenizer::note_unknown_texts(std::string_view bytes, std::size_t first, TokenSequence& out) const {
  if (stages_.model->type() != "Unigram") return;
  for (std::size_t i = first; i < out.tokens.size(); ++i) {
    const Piece& piece = out.tokens[i];
    if (piece.id != stages_.model->unk_id()) continue;
    const std::string_view surface = bytes.substr(piece.begin, piece.end - piece.begin);
    out.own_margins.emplace_back(static_cast<std::uint32_t>(i), margins_of(surface));
  }
}

}  // namespace mha::tokenizer
