#include "output/results.hpp"

namespace mha {
namespace {

/// Turns each kind of result into rows.
struct RowMaker {
  std::vector<ResultRow> operator()(std::monostate) const { return {}; }
  std::vector<ResultRow> operator()(const Labels& labels) const {
    std::vector<ResultRow> rows;
    for (const ScoredLabel& label : labels.best) {
      rows.push_back({0, {AnswerCell::of(label.name), AnswerCell::of(label.score)}});
    }
    return rows;
  }
  std::vector<ResultRow> operator()(const Fills& fills) const {
    std::vector<ResultRow> rows;
    for (std::size_t mask = 0; mask < fills.masks.size(); ++mask) {
      for (const Fill& fill : fills.masks[mask]) {
        rows.push_back({mask,
                        {AnswerCell::of(fill.score), AnswerCell::whole(fill.token), AnswerCell::of(fill.token_text),
                         AnswerCell::of(fill.sequence)}});
      }
    }
    return rows;
  }
  std::vector<ResultRow> operator()(const Entities& entities) const {
    std::vector<ResultRow> rows;
    for (const FoundEntity& entity : entities.found) {
      std::vector<AnswerCell> cells{AnswerCell::of(entity.label), AnswerCell::of(entity.score)};
      if (entity.token) cells.push_back(AnswerCell::of(*entity.token));
      cells.push_back(AnswerCell::of(entity.word));
      cells.push_back(AnswerCell::of(entity.begin));
      cells.push_back(AnswerCell::of(entity.end));
      rows.push_back({0, std::move(cells)});
    }
    return rows;
  }
  std::vector<ResultRow> operator()(const Spans& spans) const {
    std::vector<ResultRow> rows;
    for (const FoundSpan& span : spans.best) {
      rows.push_back({0,
                      {AnswerCell::of(span.text), AnswerCell::of(span.score), AnswerCell::of(span.begin),
                       AnswerCell::of(span.end)}});
    }
    return rows;
  }
  std::vector<ResultRow> operator()(const SparseVector& vector) const {
    std::vector<ResultRow> rows;
    for (const WeightedToken& entry : vector.entries) {
      rows.push_back({0, {AnswerCell::of(entry.token), AnswerCell::whole(entry.id), AnswerCell::of(entry.weight)}});
    }
    return rows;
  }
  std::vector<ResultRow> operator()(Score score) const { return {{0, {AnswerCell::of(score.value)}}}; }
};

}  // namespace

std::vector<ResultRow> rows_of(const TaskResult& result) { return std::visit(RowMaker{}, result); }

}  // namespace mha
