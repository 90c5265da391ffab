#include "mha/core/error.hpp"
#include "tokenizer/models/models.hpp"

namespace mha::tokenizer {
namespace {

// tokenizers 0.22.2, models/wordlevel/mod.rs: each word is looked up whole.
class WordLevel final : public TokenModel {
 public:
  WordLevel(Vocab vocab, std::string unk_token)
      : vocab_(std::move(vocab)), unk_token_(std::move(unk_token)), unk_id_(vocab_.find(unk_token_)) {}

  void tokenize(std::string_view text, std::span<const Span> words, TokenModelScratch&,
                std::vector<Piece>& out) const override {
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      const Span word = words[i];
      std::int32_t id = vocab_.find(text.substr(word.begin, word.end - word.begin));
      if (id < 0) id = unk_id_;
      if (id < 0) {
        throw_input("tokenizer: unknown word: expected the unknown token \"" + unk_token_ +
                    "\" in the vocabulary, got none; the text cannot be encoded");
      }
      out.push_back({id, word.begin, word.end, i});
    }
  }
  std::string_view type() const override { return "WordLevel"; }
  const Vocab& vocab() const override { return vocab_; }
  std::int32_t unk_id() const override { return unk_id_; }

 private:
  Vocab vocab_;
  std::string unk_token_;
  std::int32_t unk_id_;
};

}  // namespace

std::shared_ptr<TokenModel> make_word_level(Vocab vocab, std::string unk_token) {
  return std::make_shared<WordLevel>(std::move(vocab), std::move(unk_token));
}

std::shared_ptr<TokenModel> make_word_level(const JsonValue& value) {
  return make_word_level(read_vocab(value.at("vocab")), value.at("unk_token").as_string());
}

}  // namespace mha::tokenizer
