#include "cli/options/questions.hpp"

#include "cli/options.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

void declare(OptionList& list, Options& options) {
  AttentionQuestions& questions = options.questions;
  list.group("Questions");
  list.flag("--words", "join pieces to words: weights to a word are summed, from a word averaged", questions.words);
  list.flag("--hide-specials", "leave special tokens out of what is shown; weights are not rescaled",
            questions.hide_specials);
  list.value("--average", "AXIS", "mean over", ValueKind::choice,
             [&questions](const std::string& word) {
               const auto [layers, heads] = choose<std::pair<bool, bool>>(
                   "--average", word, {{"layers", {true, false}}, {"heads", {false, true}}, {"all", {true, true}}});
               questions.average_layers = layers;
               questions.average_heads = heads;
             })
      .choices = {"layers", "heads", "all"};
  list.flag("--rollout", "attention rolled out over all layers (Abnar & Zuidema 2020)", questions.rollout);
  list.text("--find", "'QUERY>KEY'", "rank all heads by that weight; a token is its text, or #3 by position",
            [&questions](const std::string& text) {
              const std::size_t sign = text.find('>', 1);
              if (sign == std::string::npos || sign + 1 == text.size()) {
                throw_usage("--find: expected QUERY>KEY such as 'She>leader', got \"" + text + '"');
              }
              questions.find.emplace_back(text.substr(0, sign), text.substr(sign + 1));
            })
      .repeats();
  list.count("--top", "K", "the K strongest edges of each query", questions.top, 1);
  list.flag("--stats", "one row per head: entropy, shares and distance", questions.stats);
}

void check(const Options& options) {
  const AttentionQuestions& questions = options.questions;
  if (questions.rollout && (questions.average_layers || questions.average_heads)) {
    throw_usage("--rollout and --average: expected one of them, got both; leave one out");
  }
  if (questions.rollout && (!options.heads.layers.empty() || !options.heads.heads.empty())) {
    throw_usage("--rollout: expected all layers and heads, got a selection; leave --layer and --head out");
  }
  const FormatInfo& format = info(options.format());
  if (format.delimited && !questions.find.empty() + (questions.top > 0) + questions.stats > 1) {
    throw_usage("--format " + std::string(format.name) +
                ": expected one of --find, --top and --stats, got more; leave one out");
  }
}

}  // namespace

const OptionGroup kQuestions{declare, check};

}  // namespace mha::cli
