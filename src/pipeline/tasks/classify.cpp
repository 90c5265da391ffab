#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mha/core/error.hpp"
#include "pipeline/scores.hpp"
#include "pipeline/tasks.hpp"

namespace mha {
namespace {

std::vector<float> scores_of(std::span<const float> logits, LabelScores how) {
  if (how == LabelScores::softmax) return softmax_of(logits);
  std::vector<float> scores(logits.begin(), logits.end());
  if (how == LabelScores::sigmoid) {
    for (float& score : scores) score = sigmoid_of(score);
  }
  return scores;
}

void add_labels(Record& record, const std::vector<std::string>& labels, const std::vector<float>& scores,
                std::size_t top_k) {
  for (const std::size_t i : largest(scores, std::max<std::size_t>(top_k, 1))) {
    record.results.push_back({0, {AnswerCell::of(labels[i]), AnswerCell::of(double{scores[i]})}});
  }
}

ResultLayout labels_layout(std::size_t top_k) {
  if (top_k == 0) return {ResultLayout::Shape::members, "", "", {"label", "score"}};
  return {ResultLayout::Shape::list, "scores", "", {"label", "score"}};
}

class Classify : public TaskReader {
 public:
  Classify(const ModelWork& work, const ClassifySettings& settings) : work_(work), settings_(settings) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    const auto pair = record.text_pair ? std::optional<std::string_view>(*record.text_pair) : std::nullopt;
    work_.tokenizer->encode(text, pair, work_.encode, scratch, record.encoding);
  }

  void read(const Encoding&, std::size_t, ConstMatrix logits, Record& record) const override {
    add_labels(record, settings_.labels, scores_of({logits.row(0), logits.cols}, settings_.scores), settings_.top_k);
  }

  ResultLayout layout() const override { return labels_layout(settings_.top_k); }

 private:
  const ModelWork& work_;
  ClassifySettings settings_;
};

class ZeroShot : public TaskReader {
 public:
  ZeroShot(const ModelWork& work, const ZeroShotSettings& settings) : work_(work), settings_(settings) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    if (record.text_pair) throw_input("text_pair: expected none with --labels, got one");
    EncodeOptions options = work_.encode;
    options.strategy = TruncationStrategy::only_first;
    std::vector<Encoding> others(settings_.hypotheses.size() - 1);
    for (std::size_t i = 0; i < others.size(); ++i) {
      work_.tokenizer->encode(text, settings_.hypotheses[i + 1], options, scratch, others[i]);
    }
    work_.tokenizer->encode(text, settings_.hypotheses[0], options, scratch, record.encoding);
    // The text is cut where it is cut for any of them.
    std::size_t cut = record.encoding.full_length - record.encoding.size();
    for (const Encoding& other : others) cut = std::max(cut, other.full_length - other.size());
    record.encoding.full_length = record.encoding.size() + cut;
    record.encoding.overflowing = std::move(others);
  }

  // Until all are read, a row is the logits of one hypothesis.
  void read(const Encoding&, std::size_t, ConstMatrix logits, Record& record) const override {
    record.results.push_back({0,
                              {AnswerCell::of(double{logits.row(0)[settings_.entailment]}),
                               AnswerCell::of(double{logits.row(0)[settings_.contradiction]})}});
  }

  void finish(Record& record) const override {
    std::vector<float> scores;
    for (const ResultRow& row : record.results) {
      const auto entailment = static_cast<float>(row.cells[0].number);
      const auto contradiction = static_cast<float>(row.cells[1].number);
      scores.push_back(settings_.multi_label ? softmax_of(std::vector{contradiction, entailment})[1] : entailment);
    }
    if (!settings_.multi_label) scores = softmax_of(scores);
    record.results.clear();
    add_labels(record, settings_.labels, scores, settings_.top_k);
  }

  ResultLayout layout() const override { return labels_layout(settings_.top_k); }

 private:
  const ModelWork& work_;
  ZeroShotSettings settings_;
};

class Rerank : public TaskReader {
 public:
  Rerank(const ModelWork& work, std::string query, LabelScores scores)
      : work_(work), query_(std::move(query)), scores_(scores) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    if (record.text_pair) throw_input("text_pair: expected a document alone, got a pair");
    work_.tokenizer->encode(query_, text, work_.encode, scratch, record.encoding);
  }

  void read(const Encoding&, std::size_t, ConstMatrix logits, Record& record) const override {
    record.results.push_back({0, {AnswerCell::of(double{scores_of({logits.row(0), 1}, scores_)[0]})}});
  }

  ResultLayout layout() const override { return {ResultLayout::Shape::members, "", "", {"score"}}; }

 private:
  const ModelWork& work_;
  std::string query_;
  LabelScores scores_;
};

}  // namespace

std::unique_ptr<TaskReader> classify_reader(const ModelWork& work, const ClassifySettings& settings) {
  return std::make_unique<Classify>(work, settings);
}

std::unique_ptr<TaskReader> zero_shot_reader(const ModelWork& work, const ZeroShotSettings& settings) {
  return std::make_unique<ZeroShot>(work, settings);
}

std::unique_ptr<TaskReader> rerank_reader(const ModelWork& work, std::string query, LabelScores scores) {
  return std::make_unique<Rerank>(work, std::move(query), scores);
}

}  // namespace mha
