#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/scores.hpp"
#include "pipeline/tasks.hpp"

namespace mha {
namespace {

class Answerer : public TaskReader {
 public:
  Answerer(const ModelWork& work, const AnswerSettings& settings)
      : work_(work), settings_(settings), first_special_(work.tokenizer->role_id("cls_token")) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    if (record.input.text_pair) throw_input("text_pair: expected a context alone, got a pair");
    EncodeOptions options = work_.encode;
    options.strategy = TruncationStrategy::only_second;
    work_.tokenizer->encode(settings_.question, text, options, scratch, record.encoding);
    const auto& sequences = record.encoding.sequence_ids;
    if (std::find(sequences.begin(), sequences.end(), 1) == sequences.end()) {
      throw_input("no tokens to find an answer in");
    }
  }

  void choose_tokens(const Encoding& encoding, std::vector<std::size_t>& tokens) const override {
    tokens.resize(encoding.size());
    std::iota(tokens.begin(), tokens.end(), std::size_t{0});
  }

  void read(const Encoding& encoding, std::size_t, ConstMatrix logits, Record& record) const override {
    const std::size_t tokens = encoding.size();
    std::vector<float> start(tokens);
    std::vector<float> end(tokens);
    std::vector<bool> context(tokens);
    std::vector<bool> counted(tokens);  // the reference spreads probability over the first special too
    for (std::size_t i = 0; i < tokens; ++i) {
      start[i] = logits.row(i)[0];
      end[i] = logits.row(i)[1];
      context[i] = encoding.sequence_ids[i] == 1;
      counted[i] = context[i] || encoding.input_ids[i] == first_special_;
    }
    if (settings_.no_answer) {
      const double none = double{first_score(start, counted)} * double{first_score(end, counted)};
      add_no_answer(record, none);
    }
    for (const TokenSpan& span : best_spans(start, end, counted, context, settings_.longest, wanted())) {
      const std::size_t begin = encoding.offsets[span.first].begin;
      const std::size_t stop = std::max<std::size_t>(encoding.offsets[span.last].end, begin);
      spans_of(record).push_back({"", double{span.score}, begin, stop, false});
    }
  }

  // Until here positions are bytes. Windows share tokens: a span that two of them found counts once.
  void finish(Record& record) const override {
    // Nothing was cut if further windows hold the rest.
    if (!record.encoding.overflowing.empty()) record.truncated = false;
    std::vector<FoundSpan>& spans = spans_of(record);
    std::stable_sort(spans.begin(), spans.end(),
                     [](const FoundSpan& a, const FoundSpan& b) { return a.score > b.score; });
    std::vector<FoundSpan> best;
    for (FoundSpan& span : spans) {
      const auto same = [&](const FoundSpan& other) {
        return other.no_answer == span.no_answer && other.begin == span.begin && other.end == span.end;
      };
      if (best.size() < wanted() && std::none_of(best.begin(), best.end(), same)) best.push_back(std::move(span));
    }
    const std::string text = std::string(record.prompt) + record.input.text;
    for (FoundSpan& span : best) {
      if (span.no_answer) continue;
      span.text = text.substr(span.begin, span.end - span.begin);
      span.begin = offset_in(record, span.begin, settings_.offsets);
      span.end = offset_in(record, span.end, settings_.offsets);
    }
    spans = std::move(best);
  }

  ResultLayout layout() const override {
    using Shape = ResultLayout::Shape;
    const bool single = settings_.top_k == 0;
    return {single ? Shape::members : Shape::list, single ? "" : "answers", "", {"answer", "score", "start", "end"}};
  }

 private:
  // The probability of the first token, which stands for no answer.
  static float first_score(const std::vector<float>& logits, const std::vector<bool>& counted) {
    if (!counted[0]) return 0.0F;
    std::vector<float> kept;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (counted[i]) kept.push_back(logits[i]);
    }
    return softmax_of(kept)[0];
  }

  // Of several windows the one that doubts it most counts: an answer in any of them is an answer.
  static void add_no_answer(Record& record, double score) {
    for (FoundSpan& span : spans_of(record)) {
      if (!span.no_answer) continue;
      span.score = std::min(span.score, score);
      return;
    }
    spans_of(record).push_back({"", score, 0, 0, true});
  }

  static std::vector<FoundSpan>& spans_of(Record& record) {
    if (!std::holds_alternative<Spans>(record.result)) record.result = Spans{};
    return std::get<Spans>(record.result).best;
  }

  std::size_t wanted() const { return std::max<std::size_t>(settings_.top_k, 1); }

  const ModelWork& work_;
  AnswerSettings settings_;
  std::optional<std::int32_t> first_special_;
};

}  // namespace

std::unique_ptr<TaskReader> answer_reader(const ModelWork& work, const AnswerSettings& settings) {
  return std::make_unique<Answerer>(work, settings);
}

}  // namespace mha
