#include <algorithm>
#include <bit>
#include <cstring>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

// Which lengths the pieces have that begin with the same three bytes: spares the look-ups of all others.
class Lengths {
 public:
  void note(std::string_view piece) {
    if (piece.size() < 3) return;  // lengths 1 and 2 are always tried
    masks_[slot(piece.data())] |= 1U << (std::min(piece.size(), kLong) - 1);
  }

  /// The greatest length, at most `most`, for which `found(length)` holds; 0 when there is none.
  template <typename Found>
  std::size_t longest(const char* text, std::size_t most, const Found& found) const {
    std::uint32_t mask = 3U | (most >= 3 ? masks_[slot(text)] : 0U);
    if (mask >> (kLong - 1) != 0) {
      for (; most >= kLong; --most) {
        if (found(most)) return most;
      }
    }
    if (most < kLong) mask &= (1U << most) - 1;
    mask &= ~(1U << (kLong - 1));
    while (mask != 0) {
      const auto length = static_cast<std::size_t>(std::bit_width(mask));
      if (found(length)) return length;
      mask &= ~(1U << (length - 1));
    }
    return 0;
  }

 private:
  static constexpr std::size_t kLong = 32;  ///< this bit stands for all greater lengths too
  static constexpr unsigned kSlotBits = 13;

  static std::size_t slot(const char* text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    return (byte(0) | byte(1) << 8 | byte(2) << 16) * 0x9E3779B1U >> (32 - kSlotBits);
  }

  std::vector<std::uint32_t> masks_ = std::vector<std::uint32_t>(std::size_t{1} << kSlotBits);
};

class WordPieceScratch final : public TokenModelScratch {
 public:
  std::string buffer;  ///< the prefix of continuing pieces, then the word
};

// tokenizers 0.22.2, models/wordpiece/mod.rs: the longest piece that the rest of the word starts with, again and again;
// a rest without any makes the whole word unknown.
class WordPiece final : public TokenModel {
 public:
  WordPiece(Vocab vocab, WordPieceOptions options)
      : vocab_(std::move(vocab)), options_(std::move(options)), unk_id_(vocab_.find(options_.unk_token)) {
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(vocab_.id_limit()); ++id) {
      const std::string_view token = vocab_.token(id);
      longest_ = std::max(longest_, token.size());
      const std::string& prefix = options_.continuing_subword_prefix;
      first_lengths_.note(token);
      if (token.starts_with(prefix)) further_lengths_.note(token.substr(prefix.size()));
    }
  }

  void tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch& scratch,
                std::vector<Piece>& out) const override {
    auto& buffer = static_cast<WordPieceScratch&>(scratch).buffer;
    // Look-ups of a few words at a time: while one waits for memory, the next ones' is on its way.
    constexpr std::size_t kBatch = 16;
    Vocab::Key keys[kBatch];
    for (std::size_t first = 0; first < words.size(); first += kBatch) {
      const std::size_t count = std::min(kBatch, words.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const Span word = words[first + i];
        keys[i] = Vocab::key_of(text.substr(word.begin, word.end - word.begin), text.size() - word.begin);
        if (vocab_.size() > 0) vocab_.prefetch(keys[i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        tokenize_word(text, words[first + i], static_cast<std::uint32_t>(first + i), keys[i], buffer, out);
      }
    }
  }

  std::unique_ptr<TokenModelScratch> make_scratch() const override { return std::make_unique<WordPieceScratch>(); }
  std::string_view type() const override { return "WordPiece"; }
  const Vocab& vocab() const override { return vocab_; }
  std::int32_t unk_id() const override { return unk_id_; }
  std::string_view continuing_prefix() const override { return options_.continuing_subword_prefix; }

 private:
  void tokenize_word(std::string_view text, Span span, std::uint32_t index, const Vocab::Key& key, std::string& buffer,
                     std::vector<Piece>& out) const {
    const std::string_view word = text.substr(span.begin, span.end - span.begin);
    if (fits(word)) {
      // Most words are pieces themselves.
      const std::int32_t whole = word.size() <= longest_ ? vocab_.find(word, key) : -1;
      if (whole >= 0) {
        out.push_back({whole, span.begin, span.end, index});
        return;
      }
      if (split(word, span.begin, index, buffer, out)) return;
    }
    out.push_back({unknown(), span.begin, span.end, index});
  }

  // At most max_input_chars_per_word characters.
  bool fits(std::string_view word) const {
    if (word.size() <= options_.max_input_chars_per_word) return true;
    std::size_t count = 0;
    for (const char c : word) count += !utf8::is_continuation(c);
    return count <= options_.max_input_chars_per_word;
  }

  std::int32_t unknown() const {
    if (unk_id_ >= 0) return unk_id_;
    throw_input("tokenizer: unknown word: expected the unknown token \"" + options_.unk_token +
                "\" in the vocabulary, got none; the text cannot be encoded");
  }

  // Appends the pieces of a word; false, and nothing appended, when a rest starts with no piece.
  bool split(std::string_view word, std::uint32_t begin, std::uint32_t index, std::string& buffer,
             std::vector<Piece>& out) const {
    const std::string& prefix = options_.continuing_subword_prefix;
    const std::size_t first = out.size();
    buffer.assign(prefix).append(word);
    for (std::size_t start = 0; start < word.size();) {
      // The prefix is written over bytes that are used up, so that prefix and rest stand together.
      const std::size_t extra = start > 0 ? prefix.size() : 0;
      char* const rest = buffer.data() + prefix.size() + start - extra;
      std::memcpy(rest, prefix.data(), extra);
      const std::size_t most = std::min(word.size() - start, longest_ > extra ? longest_ - extra : 0);
      std::int32_t id = -1;
      const Lengths& lengths = start > 0 ? further_lengths_ : first_lengths_;
      const std::size_t length = lengths.longest(rest + extra, most, [&](std::size_t size) {
        if (start + size < word.size() && utf8::is_continuation(word[start + size])) return false;
        id = vocab_.find({rest, extra + size});
        return id >= 0;
      });
      if (id < 0) {
        out.resize(first);
        return false;
      }
      out.push_back(
          {id, begin + static_cast<std::uint32_t>(start), begin + static_cast<std::uint32_t>(start + length), index});
      start += length;
    }
    return true;
  }

  Vocab vocab_;
  WordPieceOptions options_;
  std::int32_t unk_id_;
  std::size_t longest_ = 0;  ///< bytes of the longest piece
  Lengths first_lengths_;
  Lengths further_lengths_;
};

}  // namespace

std::shared_ptr<TokenModel> make_word_piece(Vocab vocab, WordPieceOptions options) {
  return std::make_shared<WordPiece>(std::move(vocab), std::move(options));
}

std::shared_ptr<TokenModel> make_word_piece(const JsonValue& value) {
  WordPieceOptions options;
  options.unk_token = value.at("unk_token").as_string();
  options.continuing_subword_prefix = value.at("continuing_subword_prefix").as_string();
  options.max_input_chars_per_word =
      static_cast<std::size_t>(value.at("max_input_chars_per_word").as_integer(0, 1LL << 40));
  return make_word_piece(read_vocab(value.at("vocab")), std::move(options));
}

}  // namespace mha::tokenizer
