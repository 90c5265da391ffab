#include "cli/commands/all.hpp"
#include "cli/task_run.hpp"

namespace mha::cli {
namespace {

struct TagOptions {
  Aggregation aggregation = Aggregation::none;
};

void declare(OptionList& list, Options& options) {
  list.group("Task");
  list.choice("--aggregation", "HOW", "how tokens become entities", options.own<TagOptions>().aggregation,
              {{"none", Aggregation::none},
               {"simple", Aggregation::simple},
               {"first", Aggregation::first},
               {"average", Aggregation::average},
               {"max", Aggregation::max}});
}

std::unique_ptr<TaskReader> make_reader(const TaskRun& run) {
  return tag_reader(run.work, {read_head_labels(run.header, run.outputs).names,
                               run.options.own<TagOptions>().aggregation, run.options.output.offsets});
}

}  // namespace

const Command kTag{
    .name = "tag",
    .summary = "entities in a text: names, places, parts of speech",
    .arguments = "TEXT…",
    .about =
        "Prints the tokens that a token classifier gives another label than \"O\", or with --aggregation the entities "
        "that they make: simple joins neighbouring tokens of one label, first, average and max decide word by word, by "
        "its first token, the mean of its tokens or the surest one. Positions count in the text.",
    .examples = {"mha-cli -m ner-model tag --aggregation simple \"Teresa lives in New York.\"",
                 "mha-cli -m ner-model tag --aggregation first --format jsonl --offsets bytes -i lines.txt"},
    .declare = declare,
    .options = {&kInput, &kTokens, &kOffsets, &kOutput},
    .formats = {Format::table, Format::json, Format::jsonl, Format::csv, Format::tsv},
    .single_texts = true,
    .is_task = true,
    .run = [](const Options& options, Log& log) { return run_task(options, Task::tag, make_reader, log); },
};

}  // namespace mha::cli
