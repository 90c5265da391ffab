#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands/all.hpp"
#include "cli/log.hpp"
#include "cli/task_run.hpp"
#include "mha/core/error.hpp"

namespace mha::cli {
namespace {

struct FillMaskOptions {
  std::size_t top_k = FillMaskSettings().top_k;
  std::vector<std::string> targets;
};

void declare(OptionList& list, Options& options) {
  auto& own = options.own<FillMaskOptions>();
  list.group("Task");
  list.count("--top-k", "N", "results of each mask", own.top_k, 1).by_default(std::to_string(own.top_k));
  list.text("--targets", "LIST",
            "score only these words, separated by commas; scores stay those of the whole vocabulary",
            [&own](const std::string& text) { own.targets = parse_list("--targets", text); })
      .explain("Blanks belong to a word: \" the\" is another word than \"the\". Write \\, for a comma inside a word.");
}

// The vocabulary entry of a word, else the first token that it is cut into, as the reference does.
std::vector<std::int32_t> target_ids(const TaskRun& run) {
  const Tokenizer& tokenizer = run.model.tokenizer();
  EncodeOptions bare;
  bare.add_special_tokens = false;
  TokenizerScratch scratch;
  std::vector<std::int32_t> ids;
  for (const std::string& target : run.options.own<FillMaskOptions>().targets) {
    auto id = tokenizer.id_of(target);
    if (!id) {
      Encoding encoding;
      tokenizer.encode(target, std::nullopt, bare, scratch, encoding);
      if (encoding.size() == 0) throw_usage("--targets: expected words, got \"" + target + "\", which has no tokens");
      id = encoding.input_ids[0];
      run.log.warning("--targets: \"" + target + "\" is no entry of the vocabulary; its first token \"" +
                      std::string(tokenizer.token(*id)) + "\" is scored instead");
    }
    if (static_cast<std::size_t>(*id) >= run.outputs) {
      throw_usage("--targets: expected entries that the model scores, got \"" + target + '"');
    }
    if (std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  }
  return ids;
}

std::unique_ptr<TaskReader> make_reader(const TaskRun& run) {
  FillMaskSettings settings;
  settings.top_k = run.options.own<FillMaskOptions>().top_k;
  settings.targets = target_ids(run);
  settings.outputs = run.outputs;
  return fill_mask_reader(run.work, settings);
}

}  // namespace

const Command kFillMask{
    .name = "fill-mask",
    .summary = "the most probable words for each mask in a text",
    .arguments = "TEXT…",
    .about =
        "Prints the most probable vocabulary entries for each mask token, by a masked language model, and the text "
        "with each entry in its place. The tokenizer decides what the mask token is, such as [MASK] or <mask>.",
    .examples = {"mha-cli -m bert-base-uncased fill-mask \"She is a [MASK] leader.\"",
                 "mha-cli -m roberta-base fill-mask --targets good,bad --format jsonl -i lines.txt"},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .is_task = true,
    .run = [](const Options& options, Log& log) { return run_task(options, Task::fill_mask, make_reader, log); },
};

}  // namespace mha::cli
