#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "mha/core/error.hpp"
#include "pipeline/entities.hpp"
#include "pipeline/scores.hpp"
#include "pipeline/tasks.hpp"

namespace mha {
namespace {

class Tag : public TaskReader {
 public:
  Tag(const ModelWork& work, const TagSettings& settings)
      : work_(work), settings_(settings), unknown_(work.tokenizer->role_id("unk_token")) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    if (record.input.text_pair) throw_input("text_pair: expected a single text, got a pair");
    work_.tokenizer->encode(text, std::nullopt, work_.encode, scratch, record.encoding);
  }

  void choose_tokens(const Encoding& encoding, std::vector<std::size_t>& tokens) const override {
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      if (encoding.special_tokens_mask[i] == 0) tokens.push_back(i);
    }
  }

  void read(const Encoding& encoding, std::size_t, ConstMatrix logits, Record& record) const override {
    const std::string text = std::string(record.prompt) + record.input.text;
    std::vector<std::size_t> chosen;
    choose_tokens(encoding, chosen);
    std::vector<ScoredToken> tokens;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      tokens.push_back(token_at(encoding, chosen[i], text));
      tokens.back().scores = softmax_of({logits.row(i), logits.cols});
    }
    const auto join = [&](std::vector<std::string> words) { return work_.tokenizer->join(std::move(words)); };
    Entities result;
    for (Entity& entity : entities_of(tokens, settings_.aggregation, settings_.labels, join)) {
      FoundEntity& found = result.found.emplace_back();
      found.label = std::move(entity.label);
      found.score = double{entity.score};
      if (settings_.aggregation == Aggregation::none) found.token = entity.index;
      found.word = std::move(entity.word);
      found.begin = offset_in(record, entity.begin, settings_.offsets);
      found.end = offset_in(record, entity.end, settings_.offsets);
    }
    record.result = std::move(result);
  }

  ResultLayout layout() const override {
    std::vector<std::string> columns{"entity_group", "score", "word", "start", "end"};
    if (settings_.aggregation == Aggregation::none) columns = {"entity", "score", "index", "word", "start", "end"};
    return {ResultLayout::Shape::list, "entities", "", std::move(columns)};
  }

 private:
  // Whether a piece goes on a word is asked as the reference asks it: by lengths where pieces are marked, else by
  // blanks.
  ScoredToken token_at(const Encoding& encoding, std::size_t i, const std::string& text) const {
    const std::int32_t id = encoding.input_ids[i];
    const Span span = encoding.offsets[i];
    const std::string_view surface = std::string_view(text).substr(span.begin, span.end - span.begin);
    ScoredToken token{i, std::string(work_.tokenizer->token(id)), span.begin, span.end, false, {}};
    if (id == unknown_) {
      token.word = surface;
    } else if (!work_.tokenizer->continuing_prefix().empty()) {
      token.continues = utf8::length(utf8::replace_invalid(token.word)) != utf8::length(surface);
    } else {
      const bool blank_before = span.begin > 0 && text[span.begin - 1] == ' ';
      const bool blank_first = span.begin < text.size() && text[span.begin] == ' ';
      token.continues = span.begin > 0 && !blank_before && !blank_first;
    }
    return token;
  }

  const ModelWork& work_;
  TagSettings settings_;
  std::optional<std::int32_t> unknown_;
};

}  // namespace

std::unique_ptr<TaskReader> tag_reader(const ModelWork& work, const TagSettings& settings) {
  return std::make_unique<Tag>(work, settings);
}

}  // namespace mha
