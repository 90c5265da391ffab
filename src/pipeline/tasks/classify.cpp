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
  Labels result;
  for (const std::size_t i : largest(scores, std::max<std::size_t>(top_k, 1))) {
    result.best.push_back({labels[i], double{scores[i]}});
  }
  record.result = std::move(result);
}

ResultLayout labels_layout(std::size_t top_k) {
  if (top_k == 0) return {ResultLayout::Shape::members, "", "", {"label", "score"}};
  return {ResultLayout::Shape::list, "scores", "", {"label", "score"}};
}

class Classify : public TaskReader {
 public:
  Classify(const ModelWork& work, const ClassifySettings& settings) : work_(work), settings_(settings) {}

  void encode(std::string_view text, TokenizerScratch& scratch, Record& record) const override {
    const auto pair = record.input.text_pair ? std::optional<std::string_view>(*record.input.text_pair) : std::nullopt;
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
    if (record.input.text_pair) throw_input("text_pair: expected none for labels of your own, got one");
    EncodeOptions options = work_.encode;
    options.strategy = TruncationStrategy::only_first;
    std::vector<Encoding> others(settings_.hypotheses.size() - 1);
    for (std::size_t i = 0; i < others.size(); ++i) {
      work_.tokenizer->encode(text, settings_.hypotheses[i + 1], options, scratch, others[i]);
    }
    work_.tokenizer->encode(text, settings_.hypotheses[0], options, scratch, record.encoding);
    // The text is cut if it is cut for any of them; the record tells the longest cut.
    std::size_t cut = record.encoding.full_length - record.encoding.size();
    for (const Encoding& other : others) cut = std::max(cut, other.full_length - other.size());
    record.encoding.full_length = record.encoding.size() + cut;
    record.encoding.overflowing = std::move(others);
  }

  void read(const Encoding&, std::size_t, ConstMatrix logits, Record& record) const override {
    record.logits.push_back(logits.row(0)[settings_.entailment]);
    record.logits.push_back(logits.row(0)[settings_.contradiction]);
  }

  void finish(Record& record) const override {
    std::vector<float> scores;
    for (std::size_t i = 0; i < record.logits.size(); i += 2) {
      const float entailment = record.logits[i];
      const float contradiction = record.logits[i + 1];
      scores.push_back(settings_.multi_label ? softmax_of(std::vector{contradiction, entailment})[1] : entailment);
    }
    if (!settings_.multi_label) scores = softmax_of(scores);
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
    if (record.input.text_pair) throw_input("text_pair: expected a document alone, got a pair");
    work_.tokenizer->encode(query_, text, work_.encode, scratch, record.encoding);
  }

  void read(const Encoding&, std::size_t, ConstMatrix logits, Record& record) const override {
    record.result = Score{double{scores_of({logits.row(0), 1}, scores_)[0]}};
  }

  ResultLayout layout() const override { return {ResultLayout::Shape::members, "", "", {"score"}}; }

 private:
  const ModelWork& work_;
  std::string query_;
  LabelScores scores_;
};

}  // namespace

LabelScores label_scores(const HeadLabels& labels) {
  if (labels.problem_type == "regression") return LabelScores::none;
  const bool apart = labels.problem_type == "multi_label_classification" || labels.names.size() == 1;
  return apart ? LabelScores::sigmoid : LabelScores::softmax;
}

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
