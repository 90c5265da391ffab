#include "pipeline/entities.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "pipeline/scores.hpp"

namespace mha {
namespace {

using Join = std::function<std::string(std::vector<std::string>)>;

std::vector<float> mean_of(std::span<const ScoredToken> tokens) {
  std::vector<float> mean(tokens[0].scores.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const ScoredToken& token : tokens) sum += double{token.scores[i]};
    mean[i] = static_cast<float>(sum / static_cast<double>(tokens.size()));
  }
  return mean;
}

/// The scores that speak for a whole word.
std::vector<float> word_scores(std::span<const ScoredToken> tokens, Aggregation aggregation) {
  if (aggregation == Aggregation::average) return mean_of(tokens);
  if (aggregation == Aggregation::first) return tokens[0].scores;
  const auto top = [](const ScoredToken& token) { return token.scores[first_largest(token.scores)]; };
  return std::max_element(tokens.begin(), tokens.end(),
                          [&](const ScoredToken& a, const ScoredToken& b) { return top(a) < top(b); })
      ->scores;
}

Entity entity_of(std::span<const ScoredToken> tokens, const std::vector<float>& scores,
                 const std::vector<std::string>& labels, std::string word) {
  const std::size_t label = first_largest(scores);
  return {labels[label], scores[label], tokens[0].index, std::move(word), tokens.front().begin, tokens.back().end};
}

/// `B-PER`, `I-PER` or `PER` (which goes on, as `I-PER` does).
struct Tag {
  bool begins;
  std::string_view name;
};

Tag tag_of(std::string_view label) {
  if (label.starts_with("B-")) return {true, label.substr(2)};
  return {false, label.starts_with("I-") ? label.substr(2) : label};
}

Entity group_of(std::span<const Entity> entities, const Join& join) {
  Entity group = entities[0];
  if (const std::size_t dash = group.label.find('-'); dash != std::string::npos) group.label.erase(0, dash + 1);
  double sum = 0;
  std::vector<std::string> words;
  for (const Entity& entity : entities) {
    sum += double{entity.score};
    words.push_back(entity.word);
  }
  group.score = static_cast<float>(sum / static_cast<double>(entities.size()));
  group.word = join(std::move(words));
  group.end = entities.back().end;
  return group;
}

std::vector<Entity> groups_of(std::span<const Entity> entities, const Join& join) {
  std::vector<Entity> groups;
  for (std::size_t begin = 0, end = 0; begin < entities.size(); begin = end) {
    for (end = begin + 1; end < entities.size(); ++end) {
      const Tag tag = tag_of(entities[end].label);
      if (tag.begins || tag.name != tag_of(entities[end - 1].label).name) break;
    }
    groups.push_back(group_of(entities.subspan(begin, end - begin), join));
  }
  return groups;
}

}  // namespace

std::vector<Entity> entities_of(const std::vector<ScoredToken>& tokens, Aggregation aggregation,
                                const std::vector<std::string>& labels, const Join& join) {
  const std::span<const ScoredToken> all(tokens);
  std::vector<Entity> entities;
  const bool words = aggregation != Aggregation::none && aggregation != Aggregation::simple;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    end = begin + 1;
    while (words && end < all.size() && all[end].continues) ++end;
    const auto part = all.subspan(begin, end - begin);
    if (!words) {
      entities.push_back(entity_of(part, part[0].scores, labels, part[0].word));
      continue;
    }
    std::vector<std::string> pieces;
    for (const ScoredToken& token : part) pieces.push_back(token.word);
    entities.push_back(entity_of(part, word_scores(part, aggregation), labels, join(std::move(pieces))));
  }
  if (aggregation != Aggregation::none) entities = groups_of(entities, join);
  std::erase_if(entities, [](const Entity& entity) { return entity.label == "O"; });
  return entities;
}

}  // namespace mha
