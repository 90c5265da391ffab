#include "analysis/questions.hpp"

namespace mha {

AttentionMaps asked_maps(AttentionMaps maps, const AttentionQuestions& questions) {
  if (questions.words) maps = join_words(maps);
  if (questions.average_layers) maps = average_layers(maps);
  if (questions.average_heads) maps = average_heads(maps);
  return maps;
}

AttentionMaps shown_maps(AttentionMaps maps, const AttentionQuestions& questions) {
  if (questions.rollout) {
    maps = rollout(maps);
    if (questions.words) maps = join_words(maps);
  } else {
    maps = asked_maps(std::move(maps), questions);
  }
  return questions.hide_specials ? without_specials(maps) : maps;
}

}  // namespace mha
