#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

namespace mha::cli {

class Log;

/// Sets of options that commands share.
enum OptionGroup : unsigned {
  kModel = 1U << 0,        ///< --model, --backend, --dtype, --threads stand in every command; this marks who loads one
  kInputs = 1U << 1,       ///< TEXT…, -i, formats of the input, --on-error, --shard
  kTokenizing = 1U << 2,   ///< truncation, specials, prompts
  kPooling = 1U << 3,      ///< --pooling, --normalize, --dims
  kSelection = 1U << 4,    ///< --layer, --head
  kAblation = 1U << 5,     ///< --ablate
  kOutput = 1U << 6,       ///< --format, --digits, -o
  kParts = 1U << 7,        ///< --with, --offsets
  kDecoding = 1U << 8,     ///< --decode, --count, --stride
  kMatrix = 1U << 9,       ///< --matrix
  kMeasuring = 1U << 10,   ///< --batch, --tokens, --runs
  kConverting = 1U << 11,  ///< --to, --dtype, -o
  kFresh = 1U << 12,       ///< --d-model, --heads, …
  kQuestions = 1U << 13,   ///< --words, --find, --top, --average, --rollout, --stats
  kToken = 1U << 14,       ///< --token
  kCorpus = 1U << 15,      ///< --conllu, --importance, --hide-specials
  kAgainst = 1U << 16,     ///< --against, --tolerance
  kQuery = 1U << 17,       ///< the first TEXT is no input, but what inputs are looked at for
  kTopK = 1U << 18,        ///< --top-k
  kFilling = 1U << 19,     ///< --targets
  kLabels = 1U << 20,      ///< --all-scores, --labels, --hypothesis, --multi-label
  kEntities = 1U << 21,    ///< --aggregation
  kAnswers = 1U << 22,     ///< --stride, --longest, --no-answer
  kTask = 1U << 24,        ///< results of a head
  kOffsets = 1U << 23,     ///< --offsets
  kWindows = 1U << 25,     ///< --chunk, --stride, --late-chunk
  kQuantize = 1U << 26,    ///< --quantize and where its ranges come from
  kSingle = 1U << 27,      ///< inputs are single texts, never pairs
  kResume = 1U << 28,      ///< --resume
};

/// One command: what help says about it, which options it takes, and what it does.
struct Command {
  std::string_view name;       ///< "embed", "model info"
  std::string_view summary;    ///< one line for the list of commands
  std::string_view arguments;  ///< "TEXT…"
  std::string_view about;      ///< a paragraph
  std::vector<std::string_view> examples;
  unsigned groups = 0;
  std::vector<Format> formats;  ///< the first is the default
  int (*run)(const Options& options, Log& log) = nullptr;

  bool has(OptionGroup group) const { return (groups & group) != 0; }
};

/// All commands, in the order that help lists them.
std::span<const Command* const> commands();

}  // namespace mha::cli
