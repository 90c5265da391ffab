#include "tokenizer/pipeline.hpp"

#include <algorithm>
#include <limits>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/json.hpp"
#include "tokenizer/normalizer/lowercase.hpp"
#include "tokenizer/release.hpp"
#include "unicode/properties.hpp"

namespace mha {
namespace tokenizer {
namespace {

// Words that the model gets at once: what it makes of them stays in the cache.
constexpr std::size_t kWordsAtOnce = 4096;

// Bytes of a text behind which its scratch memory is given back.
constexpr std::size_t kLongText = std::size_t{1} << 20;

// Room for the many tokens of a long text without twice the memory for them all.
template <typename T>
void reserve_more(std::vector<T>& values, std::size_t more) {
  const std::size_t size = values.size() + more;
  if (size > values.capacity()) values.reserve(std::max(size, values.capacity() + values.capacity() / 4));
}

// So many margins, or more: the token's text tells.
constexpr std::uint32_t kManyMargins = 15;

// Characters at the ends of a token's text that trimming takes off its offsets.
struct Margins {
  std::uint32_t leading = 0;
  std::uint32_t trailing = 0;
};

/// The tokens of one text, before truncation and template.
struct Sequence {
  std::string_view text;
  std::vector<Piece> tokens;  ///< ranges of the text, numbers of its words
  /// For trimming: the text of an added token is what it matched, spaces included.
  std::vector<std::pair<std::uint32_t, Margins>> matched;  ///< by index of the token, ascending
};

struct Window {
  std::size_t begin;
  std::size_t end;
};

}  // namespace
}  // namespace tokenizer

struct TokenizerScratch::Impl {
  tokenizer::PreTokenizedText whole;
  tokenizer::PreTokenizedText part;
  std::vector<tokenizer::AddedTokens::Part> raw_parts;
  std::vector<tokenizer::AddedTokens::Part> normalized_parts;
  tokenizer::Sequence sequences[2];
  std::shared_ptr<const tokenizer::Model> model;  // whose memory `model_scratch` is
  std::unique_ptr<tokenizer::ModelScratch> model_scratch;
};

TokenizerScratch::TokenizerScratch() : impl(std::make_unique<Impl>()) {}
TokenizerScratch::~TokenizerScratch() = default;
TokenizerScratch::TokenizerScratch(TokenizerScratch&&) noexcept = default;
TokenizerScratch& TokenizerScratch::operator=(TokenizerScratch&&) noexcept = default;

namespace tokenizer {
namespace {

constexpr char32_t kByteLevelSpace = 0x120;  // Ġ

Margins margins_of(std::string_view token) {
  const auto is_space = [](char32_t c) { return c == kByteLevelSpace || unicode::is(c, unicode::kWhiteSpace); };
  Margins margins;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < token.size() && is_space(utf8::next(token, at)); begin = at) ++margins.leading;
  if (begin == token.size()) return {margins.leading, margins.leading};
  for (std::size_t end = token.size(); end > begin; ++margins.trailing) {
    std::size_t at = end - 1;
    while (at > begin && (static_cast<unsigned char>(token[at]) & 0xC0U) == 0x80U) --at;
    end = at;
    if (!is_space(utf8::next(token, at))) break;
  }
  return margins;
}

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// tokenizers 0.22.2, pre_tokenizers/byte_level.rs, process_offsets; its characters are bytes here.
void trim(Span& offsets, Margins margins, std::string_view text, bool first, bool add_prefix_space) {
  if (margins.leading > 0) {
    // A single space at the front is the one that the pre-tokenizer added.
    const bool added = margins.leading == 1 && add_prefix_space && (first || offsets.begin == 0);
    std::uint32_t count = added ? 0 : margins.leading;
    for (; count > 0 && offsets.begin < offsets.end; --count) {
      do ++offsets.begin;
      while (offsets.begin < offsets.end && continues(text[offsets.begin]));
    }
  }
  if (margins.trailing > 0) {
    std::uint32_t end = offsets.end;
    std::uint32_t count = margins.trailing;
    for (; count > 0 && end > 0; --count) {
      do --end;
      while (end > 0 && continues(text[end]));
    }
    if (count == 0) offsets.end = std::max(end, offsets.begin);
  }
}

// tokenizer/encoding.rs, truncate: the kept window first, then those that overflow.
void cut(std::size_t size, std::size_t max_length, const EncodeOptions& options, std::vector<Window>& windows) {
  windows.clear();
  if (max_length >= size) {
    windows.push_back({0, size});
    return;
  }
  const bool head = options.keep == TruncationSide::head;
  if (max_length == 0) {
    windows.push_back({0, 0});
    if (options.stride) windows.push_back({0, size});
    return;
  }
  if (!options.stride) {
    windows.push_back(head ? Window{0, max_length} : Window{size - max_length, size});
    return;
  }
  if (*options.stride >= max_length) {
    throw_usage("tokenizer: stride: expected less than the " + std::to_string(max_length) +
                " tokens that a window keeps, got " + std::to_string(*options.stride));
  }
  const std::size_t step = max_length - *options.stride;
  if (head) {
    for (std::size_t begin = 0;; begin += step) {
      windows.push_back({begin, std::min(begin + max_length, size)});
      if (windows.back().end == size) return;
    }
  }
  for (std::size_t end = size;; end -= step) {
    windows.push_back({end > max_length ? end - max_length : 0, end});
    if (windows.back().begin == 0) return;
  }
}

// utils/truncation.rs, truncate_encodings.
void truncate(std::size_t first, std::optional<std::size_t> second, std::size_t room, const EncodeOptions& options,
              std::vector<Window> (&windows)[2]) {
  std::size_t keep[2] = {first, second.value_or(0)};
  const std::size_t total = keep[0] + keep[1];
  if (room == 0) {
    keep[0] = keep[1] = 0;
  } else if (total > room) {
    if (options.strategy != TruncationStrategy::longest_first) {
      const bool only_first = options.strategy == TruncationStrategy::only_first;
      if (!only_first && !second) {
        throw_input("tokenizer: truncation: expected a second text to cut, got one text");
      }
      std::size_t& target = keep[only_first ? 0 : 1];
      if (target <= total - room) {
        throw_input("tokenizer: truncation: expected a " + std::string(only_first ? "first" : "second") +
                    " text of more than " + std::to_string(total - room) + " tokens, so that some are left, got " +
                    std::to_string(target));
      }
      target -= total - room;
    } else if (!second) {
      keep[0] = room;
    } else {
      const bool swapped = keep[0] > keep[1];
      std::size_t shorter = std::min(keep[0], keep[1]);
      std::size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
      if (shorter + longer > room) {
        shorter = room / 2;
        longer = shorter + room % 2;
      }
      keep[0] = swapped ? longer : shorter;
      keep[1] = swapped ? shorter : longer;
    }
  }
  cut(first, keep[0], options, windows[0]);
  cut(second.value_or(0), keep[1], options, windows[1]);
}

class LowercaseFirst final : public Normalizer {
 public:
  explicit LowercaseFirst(std::shared_ptr<const Normalizer> then) : then_(std::move(then)) {}
  void normalize(NormalizedText& text) const override {
    to_lowercase(text);
    if (then_) then_->normalize(text);
  }
  std::string_view type() const override { return then_ ? then_->type() : "Lowercase"; }

 private:
  std::shared_ptr<const Normalizer> then_;
};

class Pipeline final : public Tokenizer {
 public:
  explicit Pipeline(Parts parts)
      : parts_(std::move(parts)), added_(parts_.added_tokens, parts_.model->vocab(), parts_.normalizer.get()) {
    if (!parts_.post_processor.trims().empty()) {
      margins_.resize(parts_.model->vocab().id_limit());
      for (std::size_t id = 0; id < margins_.size(); ++id) {
        const Margins margins = margins_of(parts_.model->vocab().token(static_cast<std::int32_t>(id)));
        margins_[id] = static_cast<std::uint8_t>(std::min(margins.leading, kManyMargins) << 4 |
                                                 std::min(margins.trailing, kManyMargins));
      }
    }
  }

  void encode(std::string_view text, std::optional<std::string_view> pair, const EncodeOptions& options,
              TokenizerScratch& scratch, Encoding& out) const override {
    TokenizerScratch::Impl& memory = *scratch.impl;
    if (memory.model != parts_.model) {
      memory.model = parts_.model;
      memory.model_scratch = parts_.model->make_scratch();
    }
    try {
      encode_with(memory, text, pair, options, out);
    } catch (...) {
      out.clear();
      throw;
    }
    if (text.size() + pair.value_or("").size() > kLongText) scratch = TokenizerScratch();
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special_tokens) const override {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const std::int32_t id : ids) {
      if (!has_token(id)) {
        throw_input("tokenizer: id: expected one of the vocabulary (0 to " + std::to_string(vocab_limit() - 1) +
                    "), got " + std::to_string(id));
      }
      const std::string_view content = token(id);
      if (skip_special_tokens && added_.is_special(content)) continue;
      tokens.emplace_back(content);
    }
    return join(std::move(tokens));
  }

  std::string join(std::vector<std::string> tokens) const override {
    std::string text;
    if (parts_.decoder) {
      parts_.decoder->decode(tokens);
      for (const std::string& piece : tokens) text += piece;
    } else {
      for (const std::string& piece : tokens) {
        if (&piece != tokens.data()) text += ' ';
        text += piece;
      }
    }
    return text;
  }

  std::size_t vocab_size() const override { return parts_.model->vocab().size() + added_.beyond_vocab(); }

  std::string_view token(std::int32_t id) const override {
    if (const AddedToken* added = added_.token(id)) return added->content;
    return parts_.model->vocab().token(id);
  }

  std::optional<std::int32_t> id_of(std::string_view token) const override {
    if (const auto id = added_.id_of(token)) return id;
    return parts_.model->vocab().id_of(token);
  }

  bool is_special(std::int32_t id) const override {
    const AddedToken* added = added_.token(id);
    return added != nullptr && added_.is_special(added->content);
  }

  std::string_view continuing_prefix() const override { return parts_.model->continuing_prefix(); }

  std::size_t special_count(bool pair) const override { return parts_.post_processor.special_count(pair); }

  std::optional<std::int32_t> role_id(std::string_view role) const override {
    const auto found = parts_.roles.find(std::string(role));
    return found == parts_.roles.end() ? std::nullopt : id_of(found->second);
  }

  std::vector<std::pair<std::string, std::string>> summary() const override {
    std::vector<std::pair<std::string, std::string>> facts{{"type", std::string(parts_.model->type())}};
    if (parts_.normalizer) facts.emplace_back("normalizer", parts_.normalizer->type());
    if (parts_.pre_tokenizer) facts.emplace_back("pre_tokenizer", parts_.pre_tokenizer->type());
    if (!parts_.post_processor.type().empty()) facts.emplace_back("post_processor", parts_.post_processor.type());
    if (parts_.decoder) facts.emplace_back("decoder", parts_.decoder->type());
    facts.emplace_back("vocab_size", std::to_string(vocab_size()));
    return facts;
  }

  std::shared_ptr<const Tokenizer> with_lowercase() const override {
    Parts parts = parts_;
    parts.normalizer = std::make_shared<LowercaseFirst>(parts_.normalizer);
    return std::make_shared<Pipeline>(std::move(parts));
  }

 private:
  std::size_t vocab_limit() const { return std::max(parts_.model->vocab().id_limit(), added_.id_limit()); }
  bool has_token(std::int32_t id) const { return added_.token(id) != nullptr || parts_.model->vocab().has(id); }

  void encode_with(TokenizerScratch::Impl& memory, std::string_view text, std::optional<std::string_view> pair,
                   const EncodeOptions& options, Encoding& out) const {
    out.overflowing.clear();
    Sequence(&sequences)[2] = memory.sequences;
    tokenize(text, options.plain_specials, memory, sequences[0]);
    if (pair) tokenize(*pair, options.plain_specials, memory, sequences[1]);
    const std::size_t first = sequences[0].tokens.size();
    const std::size_t second = pair ? sequences[1].tokens.size() : 0;
    const PostProcessor::Layout& layout = parts_.post_processor.layout(pair.has_value(), options.add_special_tokens);
    const std::size_t specials = options.add_special_tokens ? special_count(pair.has_value()) : 0;
    out.full_length = first + second + specials;
    if (!options.max_length || out.full_length <= *options.max_length) {
      const Window windows[2] = {{0, first}, {0, second}};
      std::size_t size = 0;
      for (const auto& slot : layout) size += slot.sequence < 0 ? 1 : windows[slot.sequence].end;
      resize(out, size);
      Writer writer{*this, sequences, out};
      for (const auto& slot : layout)
        writer.write(slot, slot.type_id, slot.sequence < 0 ? Window{0, 0} : windows[slot.sequence]);
      return;
    }
    if (*options.max_length < specials) {
      throw_usage("tokenizer: maximum length: expected at least the " + std::to_string(specials) +
                  " special tokens, got " + std::to_string(*options.max_length));
    }
    std::vector<Window> windows[2];
    truncate(first, pair ? std::optional(second) : std::nullopt, *options.max_length - specials, options, windows);
    assemble(layout, windows, sequences, out);
  }

  void tokenize(std::string_view text, bool plain_specials, TokenizerScratch::Impl& memory, Sequence& out) const {
    if (text.size() >= std::numeric_limits<std::uint32_t>::max() / 4) {
      throw_input("tokenizer: text: expected less than 1 GiB, got " + std::to_string(text.size()) + " bytes");
    }
    const bool ascii = utf8::is_ascii(text);
    if (const std::size_t bad = ascii ? utf8::kValid : utf8::first_invalid(text); bad != utf8::kValid) {
      throw_input("tokenizer: text: expected valid utf-8, got an invalid byte at " + std::to_string(bad));
    }
    out.text = text;
    out.tokens.clear();
    out.matched.clear();
    if (text.empty()) return;
    std::uint32_t word = 0;
    memory.raw_parts.clear();
    added_.split(text, AddedTokens::Pass::raw, plain_specials, memory.raw_parts);
    for (const auto& part : memory.raw_parts) {
      if (part.id >= 0) {
        add_match(part.id, text.substr(part.begin, part.end - part.begin), {part.begin, part.end}, word++, out);
        continue;
      }
      PreTokenizedText& whole = memory.whole;
      whole.text.assign(text, part.begin, part.end - part.begin);
      if (parts_.normalizer) parts_.normalizer->normalize(whole.text);
      if (whole.text.empty()) continue;
      if (!added_.any(AddedTokens::Pass::normalized)) {
        tokenize_words(whole, ascii, memory, word, out);
        continue;
      }
      const std::string_view normalized = whole.text.text();
      memory.normalized_parts.clear();
      added_.split(normalized, AddedTokens::Pass::normalized, plain_specials, memory.normalized_parts);
      for (const auto& inner : memory.normalized_parts) {
        if (inner.id >= 0) {
          add_match(inner.id, normalized.substr(inner.begin, inner.end - inner.begin),
                    whole.text.origin(inner.begin, inner.end), word++, out);
        } else if (memory.normalized_parts.size() == 1) {
          tokenize_words(whole, ascii, memory, word, out);
        } else {
          whole.text.slice(inner.begin, inner.end, memory.part.text);
          tokenize_words(memory.part, ascii, memory, word, out);
        }
      }
    }
  }

  void add_match(std::int32_t id, std::string_view matched, Span offsets, std::uint32_t word, Sequence& out) const {
    if (!margins_.empty()) out.matched.emplace_back(static_cast<std::uint32_t>(out.tokens.size()), margins_of(matched));
    out.tokens.push_back({id, offsets.begin, offsets.end, word});
  }

  void tokenize_words(PreTokenizedText& text, bool ascii, TokenizerScratch::Impl& memory, std::uint32_t& word,
                      Sequence& out) const {
    const std::string_view bytes = text.text.text();
    text.words.assign(1, {0, static_cast<std::uint32_t>(bytes.size())});
    if (parts_.pre_tokenizer) parts_.pre_tokenizer->pre_tokenize(text);
    release_large(text.next_words);
    release_large(text.matches);
    const std::string_view normalized = text.text.text();
    const std::span<const Span> words = text.words;
    // Where every byte is a character of the original at its own place, ranges are right as the model gives them.
    const bool same = ascii && text.text.one_to_one() && text.text.base() == 0;
    for (std::size_t first = 0; first < words.size(); first += kWordsAtOnce) {
      const std::span<const Span> some = words.subspan(first, std::min(kWordsAtOnce, words.size() - first));
      const std::size_t old = out.tokens.size();
      reserve_more(out.tokens, some.size());
      parts_.model->tokenize(normalized, some, *memory.model_scratch, out.tokens);
      if (!margins_.empty()) note_surfaces(normalized, old, out);
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

  // Unigram's unknown tokens have the text that they stand for, not the unknown piece's (trap 16).
  void note_surfaces(std::string_view bytes, std::size_t first, Sequence& out) const {
    if (parts_.model->type() != "Unigram") return;
    for (std::size_t i = first; i < out.tokens.size(); ++i) {
      const Piece& piece = out.tokens[i];
      if (piece.id != parts_.model->unk_id()) continue;
      const std::string_view surface = bytes.substr(piece.begin, piece.end - piece.begin);
      out.matched.emplace_back(static_cast<std::uint32_t>(i), margins_of(surface));
    }
  }

  // What an encoding held before stays until it is written over: clearing first would write every array twice.
  static void resize(Encoding& out, std::size_t size) {
    out.input_ids.resize(size);
    out.token_type_ids.resize(size);
    out.offsets.resize(size);
    out.special_tokens_mask.resize(size);
    out.word_ids.resize(size);
    out.sequence_ids.resize(size);
  }

  // Fills the arrays of an encoding, slot by slot.
  struct Writer {
    const Pipeline& pipeline;
    const Sequence (&sequences)[2];
    Encoding& out;
    std::size_t at = 0;

    void write(const PostProcessor::Slot& slot, std::int32_t type_id, Window window) {
      if (slot.sequence < 0) {
        out.input_ids[at] = slot.id;
        out.token_type_ids[at] = type_id;
        out.offsets[at] = {0, 0};
        out.special_tokens_mask[at] = 1;
        out.word_ids[at] = -1;
        out.sequence_ids[at] = -1;
        ++at;
        return;
      }
      const std::size_t size = window.end - window.begin;
      if (size == 0) return;
      const Sequence& sequence = sequences[slot.sequence];
      const Piece* token = sequence.tokens.data() + window.begin;
      std::int32_t* const ids = out.input_ids.data() + at;
      Span* const offsets = out.offsets.data() + at;
      std::int32_t* const words = out.word_ids.data() + at;
      for (std::size_t i = 0; i < size; ++i) {
        ids[i] = token[i].id;
        offsets[i] = {token[i].begin, token[i].end};
        words[i] = static_cast<std::int32_t>(token[i].word);
      }
      const auto from = static_cast<std::ptrdiff_t>(at);
      std::fill_n(out.token_type_ids.begin() + from, size, type_id);
      std::fill_n(out.special_tokens_mask.begin() + from, size, std::uint8_t{0});
      std::fill_n(out.sequence_ids.begin() + from, size, slot.sequence);
      for (const bool add_prefix_space : pipeline.parts_.post_processor.trims()) {
        pipeline.trim_offsets(sequence, window, add_prefix_space, offsets);
      }
      at += size;
    }
  };

  void trim_offsets(const Sequence& sequence, Window window, bool add_prefix_space, Span* offsets) const {
    auto matched = std::lower_bound(sequence.matched.begin(), sequence.matched.end(), window.begin,
                                    [](const auto& entry, std::size_t index) { return entry.first < index; });
    for (std::size_t i = window.begin; i < window.end; ++i) {
      const auto id = static_cast<std::size_t>(sequence.tokens[i].id);
      Margins margins;
      if (matched != sequence.matched.end() && matched->first == i) {
        margins = (matched++)->second;
      } else if (id < margins_.size()) {
        if (margins_[id] == 0) continue;
        margins = {std::uint32_t{margins_[id]} >> 4U, margins_[id] & kManyMargins};
        if (margins.leading == kManyMargins || margins.trailing == kManyMargins) {
          margins = margins_of(parts_.model->vocab().token(sequence.tokens[i].id));
        }
      }
      trim(offsets[i - window.begin], margins, sequence.text, i == window.begin, add_prefix_space);
    }
  }

  // tokenizer/encoding.rs, merge_with: the kept windows, and all combinations with the others in its order.
  void assemble(const PostProcessor::Layout& layout, const std::vector<Window> (&windows)[2],
                const Sequence (&sequences)[2], Encoding& out) const {
    using Choice = std::vector<std::uint32_t>;  // number of the window, for each slot
    Choice kept;
    std::vector<Choice> others;
    for (const auto& slot : layout) {
      const std::size_t count = slot.sequence < 0 ? 1 : windows[slot.sequence].size();
      std::vector<Choice> longer;
      const auto extend = [&](const Choice& choice, std::size_t window) {
        longer.push_back(choice);
        longer.back().push_back(static_cast<std::uint32_t>(window));
      };
      for (const Choice& other : others) {
        for (std::size_t window = 0; window < count; ++window) extend(other, window);
      }
      for (std::size_t window = 1; window < count; ++window) extend(kept, window);
      kept.push_back(0);
      others = std::move(longer);
    }
    const auto fill = [&](const Choice& choice, Encoding& encoding) {
      std::size_t size = 0;
      const auto window_of = [&](std::size_t i) {
        const int sequence = layout[i].sequence;
        return sequence < 0 ? Window{0, 1} : windows[sequence][choice[i]];
      };
      for (std::size_t i = 0; i < layout.size(); ++i) size += window_of(i).end - window_of(i).begin;
      resize(encoding, size);
      Writer writer{*this, sequences, encoding};
      for (std::size_t i = 0; i < layout.size(); ++i) {
        writer.write(layout[i], choice[i] == 0 ? layout[i].type_id : layout[i].overflow_type_id, window_of(i));
      }
    };
    fill(kept, out);
    out.overflowing.resize(others.size());
    for (std::size_t i = 0; i < others.size(); ++i) {
      fill(others[i], out.overflowing[i]);
      out.overflowing[i].full_length = out.full_length;
    }
  }

  Parts parts_;
  AddedTokens added_;
  /// By id of the model's vocabulary, leading and trailing in four bits each, so that it stays in the cache; empty when
  /// nothing is trimmed.
  std::vector<std::uint8_t> margins_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(Parts parts) {
  if (parts.pre_tokenizer && parts.model->can_read_bytes() && parts.pre_tokenizer->leave_bytes()) {
    parts.model->read_bytes();
  }
  return std::make_shared<Pipeline>(std::move(parts));
}

void pad(std::vector<Encoding>& batch, const Padding& padding) {
  std::size_t length = padding.length.value_or(0);
  if (!padding.length) {
    for (const Encoding& encoding : batch) length = std::max(length, encoding.size());
  }
  if (padding.multiple_of > 0) length += (padding.multiple_of - length % padding.multiple_of) % padding.multiple_of;
  for (Encoding& encoding : batch) {
    if (encoding.size() >= length) continue;
    const std::size_t missing = length - encoding.size();
    const auto insert = [&](auto& values, auto value) {
      values.insert(padding.left ? values.begin() : values.end(), missing, value);
    };
    insert(encoding.input_ids, padding.id);
    insert(encoding.token_type_ids, padding.type_id);
    insert(encoding.offsets, Span{});
    insert(encoding.special_tokens_mask, std::uint8_t{1});
    insert(encoding.word_ids, std::int32_t{-1});
    insert(encoding.sequence_ids, std::int8_t{-1});
  }
}

}  // namespace tokenizer
}  // namespace mha
