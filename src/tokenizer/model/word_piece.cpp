#include <algorithm>
#include <cstring>

#include "mha/core/error.hpp"
#include "tokenizer/model/models.hpp"

namespace mha::tokenizer {
namespace {

class WordPieceScratch final : public ModelScratch {
 public:
  std::string buffer;  ///< the prefix of continuing pieces, then the word
};

// tokenizers 0.22.2, models/wordpiece/mod.rs: the longest piece that the rest of the word starts with, again and again;
// a rest without any makes the whole word unknown.
class WordPiece final : public Model {
 public:
  WordPiece(Vocab vocab, WordPieceOptions options)
      : vocab_(std::move(vocab)), options_(std::move(options)), unk_id_(vocab_.find(options_.unk_token)) {
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(vocab_.id_limit()); ++id) {
      longest_ = std::max(longest_, vocab_.token(id).size());
    }
  }

  void tokenize(std::string_view text, std::span<const Span> words, ModelScratch& scratch,
                std::vector<Piece>& out) const override {
    auto& buffer = static_cast<WordPieceScratch&>(scratch).buffer;
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      const Span span = words[i];
      const std::string_view word = text.substr(span.begin, span.end - span.begin);
      if (fits(word)) {
        // Most words are pieces themselves.
        const std::int32_t whole = word.size() <= longest_ ? vocab_.find(word) : -1;
        if (whole >= 0) {
          out.push_back({whole, span.begin, span.end, i});
          continue;
        }
        if (split(word, span.begin, i, buffer, out)) continue;
      }
      out.push_back({unknown(), span.begin, span.end, i});
    }
  }

  std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<WordPieceScratch>(); }
  std::string_view type() const override { return "WordPiece"; }
  const Vocab& vocab() const override { return vocab_; }
  std::int32_t unk_id() const override { return unk_id_; }
  std::string_view continuing_prefix() const override { return options_.continuing_subword_prefix; }

 private:
  static bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

  // At most max_input_chars_per_word characters.
  bool fits(std::string_view word) const {
    if (word.size() <= options_.max_input_chars_per_word) return true;
    std::size_t count = 0;
    for (const char c : word) count += !continues(c);
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
      std::size_t length = std::min(word.size() - start, longest_ > extra ? longest_ - extra : 0);
      std::int32_t id = -1;
      for (; length > 0; --length) {
        if (start + length < word.size() && continues(word[start + length])) continue;
        id = vocab_.find({rest, extra + length});
        if (id >= 0) break;
      }
      if (id < 0) {
        out.resize(first);
        return false;
      }
      out.push_back({id, begin + static_cast<std::uint32_t>(start), begin + static_cast<std::uint32_t>(start + length), index});
      start += length;
    }
    return true;
  }

  Vocab vocab_;
  WordPieceOptions options_;
  std::int32_t unk_id_;
  std::size_t longest_ = 0;  ///< bytes of the longest piece
};

}  // namespace

std::shared_ptr<Model> make_word_piece(Vocab vocab, WordPieceOptions options) {
  return std::make_shared<WordPiece>(std::move(vocab), std::move(options));
}

std::shared_ptr<Model> make_word_piece(const JsonValue& value) {
  WordPieceOptions options;
  options.unk_token = value.at("unk_token").as_string();
  options.continuing_subword_prefix = value.at("continuing_subword_prefix").as_string();
  options.max_input_chars_per_word =
      static_cast<std::size_t>(value.at("max_input_chars_per_word").as_integer(0, 1LL << 40));
  return make_word_piece(read_vocab(value.at("vocab")), std::move(options));
}

}  // namespace mha::tokenizer
